package weir.bench.eureka;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.ComponentScan;
import org.springframework.context.annotation.FilterType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** A service that registers itself with Eureka and answers with its port. */
@SpringBootApplication
@ComponentScan(excludeFilters = @ComponentScan.Filter(type = FilterType.REGEX, pattern = ".*"))
@RestController
public class Service {
    @Value("${server.port}")
    private String port;

    public static void main(String[] arguments) {
        SpringApplication.run(Service.class, arguments);
    }

    @GetMapping("/**")
    public String answer() {
        return port;
    }
}
