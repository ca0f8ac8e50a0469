import java.util.Map;
import java.util.TreeMap;
import org.springframework.http.server.PathContainer;
import org.springframework.util.AntPathMatcher;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;
import org.springframework.web.util.pattern.PatternParseException;

/**
 * Prints how Spring matches paths and hosts by pattern. Columns are separated by tabs:
 *
 *     path  pattern  "refused", or "accepted" and for each path that matches: `path {name=value, …}`
 *     slash …                   the same, with a trailing slash tolerated, as Spring 6 could
 *     host  pattern  for each host that matches: `host {name=value, …}`
 *
 * All patterns are tried on all paths or hosts; these are listed in rows "paths" and "hosts".
 * Run with JDK 17, spring-web and spring-core on the class path:
 *
 *     7.0: java SpringPatternCases.java > cases.tsv
 *     6.2: java SpringPatternCases.java slash > slash.tsv
 */
class SpringPatternCases {
    static final String[] PATHS = {
        "", "/", "//", "/a", "/a/", "/a//", "//a", "/a/b", "/a/b/", "/a//b", "/a/b/c", "/a/b/c/",
        "/a/b/c/d", "/b", "/b/a", "/ab", "/abc", "/aXb", "/a.b", "/A", "/a%2Fb", "/a%2fb/c", "/%61",
        "/a;v=1", "/a;v=1/b;w", "/a%3Bb", "/a%20b", "/%E4%BD%A0", "/%F0%9F%98%80", "/a-b", "/a-1",
        "/12", "/1a", "/x.html", "/a/x.html", "/x", "/x/1", "/x/1/", "/x/y/z.tar.gz", "/v1/a",
        "/v1/a/b", "/red/blue/green", "/*", "/**", "/{a}", "/a+b", "/%2A", "/a%0Ab", "/aa", "/aab",
        "*",
    };

    static final String[] PATTERNS = {
        "", "/", "//", "/a", "/a/", "a", "*", "**", "/*", "/*/", "/**", "/**/", "/a/*", "/a/*/", "/a/**",
        "/*/b", "/*/*", "/*/**", "/a/*/c", "/**/b", "/**/a/b", "/**/*", "/**/*.html", "/**/{v}",
        "/{*rest}", "/a/{*rest}", "/{*rest}/b", "/{*rest}/a/b", "/{v}/{*rest}", "/{a}", "/{a}/",
        "/{a}/{b}", "/{a}/b", "/a/{b}/c", "/{a}{b}", "/{a}-{b}", "/{a}/{b}-{c}", "/{a:\\d+}",
        "/{a:[a-z]+}/{b}", "/{a:a|ab}", "/{a:\\d+}{b}", "/{a:[a-z]+}-{b:\\d+}", "/{a:.*}",
        "/{a:(b|a)}", "/x{a:(b)}", "/{file}.html", "/{file:.*}.html", "/*.html", "/a*", "/*b", "/a*b",
        "/*a*", "/a*b*", "/?", "/??", "/a?", "/a?b", "/?/b", "/{v:v\\d}/**", "/v1/{x}/{*y}",
        "/{a}/{b}/{c}", "/A", "/%61", "/a%2Fb", "/a/b", "/a//b", "//a", "//**", "/a**", "/a**b", "/***",
        "/{a-b}", "/{}", "/{*}", "/{a.b}", "/{1}", "/{a b}", "/{a", "/a}", "/{a{b}}", "/{a:}",
        "/{a:b/c}", "/{a:[}", "/x{a:[}", "/{a:{}", "/{a:\\{}", "/{a:a{2}}", "/{a:a{2}b}", "/{a}/{a}",
        "/{a}{a}", "/a/**/b", "/**/a/**", "/**/**", "/{*a}/**", "/{*a}/{*b}", "/a/{*b}/c", "/x{*a}",
        "/{*a}x", "/{*a:b}", "/{**}", "/{*a*}", "/{x}/**/a", "/{a:b}}", "/{é}", "/{_a$1}", "/{a}/**",
        "**/b", "a/**", "{*rest}", "{*rest}/b", "/a\\b", "/a+b", "/(a)", "/a.b", "/[a]", "/a|b", "/^a$",
    };

    static final String[] HOSTS = {
        "a", "b", "org", "x.org", "a.x.org", "a.b.x.org", "x.com", "a.x.com", "x.org:8080",
        "a.x.org:8080", "localhost", "localhost:80", "127.0.0.1", "[::1]", "[::1]:80", "a-b.x.org",
        "a-1.x.org", "12.x.org", "ab.x.org", "abc.x.org", "www.x.org", "a.b.c.d", "a.a.b.b", "b.a.b",
    };

    static final String[] HOST_PATTERNS = {
        "a", "x.org", "*.x.org", "**.x.org", "*.*.org", "*", "**", "*.*", "**.**", "a.**", "a.*",
        "a.**.d", "**.b.**", "a.**.b", "**.a.**.b", "**.a.b", "**.a.**.b.**", "{s}.x.org",
        "{s}.{d}.org", "{s:[a-z]+}.x.org", "{s:\\d+}.x.org", "{a}-{b}.x.org", "{a}-{b:\\d+}.x.org",
        "a*.x.org", "*b.x.org", "a?.x.org", "?.x.org", "???.x.org", "**.x.org:*", "**.x.org**",
        "**.org*", "x.org:8080", "x.org:{port}", "localhost", "localhost:*", "127.0.0.*", "[::1]",
        "[::1]:*", "{all}", "x.*", "{h:.*}", "{s:a|b}.b.**", "*.x.{t:org|com}", "{a}.**", "**.{a}",
        "{x.y}.org", "{s:a.b}.x.org", "{", "a}", "{}.x.org", "{a:(b)}", "***.x.org", "a.b.c.d",
    };

    public static void main(String[] arguments) throws ReflectiveOperationException {
        boolean slash = arguments.length > 0;
        System.out.println("paths\t" + String.join("\t", PATHS));
        for (String pattern : PATTERNS) {
            System.out.println((slash ? "slash\t" : "path\t") + pattern + "\t" + paths(pattern, slash));
        }
        if (slash) {
            return;
        }
        System.out.println("hosts\t" + String.join("\t", HOSTS));
        for (String pattern : HOST_PATTERNS) {
            System.out.println("host\t" + pattern + hosts(pattern));
        }
    }

    static String paths(String text, boolean slash) throws ReflectiveOperationException {
        PathPatternParser parser = new PathPatternParser();
        if (slash) {
            // Gone in Spring 7.
            PathPatternParser.class
                    .getMethod("setMatchOptionalTrailingSeparator", boolean.class)
                    .invoke(parser, true);
        }
        PathPattern pattern;
        try {
            pattern = parser.parse(text);
        } catch (PatternParseException | java.util.regex.PatternSyntaxException refused) {
            return "refused";
        }
        StringBuilder row = new StringBuilder("accepted");
        for (String path : PATHS) {
            PathContainer container = PathContainer.parsePath(path);
            try {
                if (pattern.matches(container)) {
                    String variables = sorted(pattern.matchAndExtract(container).getUriVariables());
                    row.append('\t').append(path).append(variables);
                }
            } catch (IllegalArgumentException failure) {
                // As SCG does: the route is skipped.
            }
        }
        return row.toString();
    }

    static String hosts(String pattern) {
        AntPathMatcher matcher = new AntPathMatcher(".");
        StringBuilder row = new StringBuilder();
        for (String host : HOSTS) {
            try {
                if (matcher.match(pattern, host)) {
                    String variables = sorted(matcher.extractUriTemplateVariables(pattern, host));
                    row.append('\t').append(host).append(variables);
                }
            } catch (IllegalArgumentException failure) {
                // As SCG does: the route is skipped.
            }
        }
        return row.toString();
    }

    static String sorted(Map<String, String> variables) {
        return " " + new TreeMap<>(variables).toString().replace("\n", "\\n");
    }
}
