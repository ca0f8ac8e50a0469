// Answers each request with what net/http understood of it: x-seen: METHOD.TARGET.BODY in hex.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	handler := http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		seen := fmt.Sprintf("%x.%x.%x", request.Method, request.RequestURI, body)
		answer.Header().Set("x-seen", seen)
		answer.Header().Set("Content-Length", "0")
	})
	fmt.Println(http.ListenAndServe("127.0.0.1:"+os.Args[1], handler))
}
