import java.util.Map;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * Prints what java.util.regex answers, one row for each question, separated by tabs:
 *
 *     full     expression  text               groups, or "no match"
 *     replace  expression  text  replacement  result, or "failure"
 *     syntax   expression                     "accepted" or "refused"
 *
 * The last rows are drawn at random, 1000 times two of them, or as many as the first argument says,
 * from the seed in the second one.
 *
 * Run with JDK 17: java JavaRegexCases.java > cases.tsv
 */
class JavaRegexCases {
    /** Expressions and the texts that each is tried on. */
    static final String[][] FULL = {
        {"", "", "a"},
        {"a", "a", "b", "aa", "A"},
        {"a\\.b", "a.b", "axb"},
        {"ch.p", "chip", "chap", "ch\np", "ch\u0085p", "chp", "ch\ud83d\ude00p"},
        {"\\d+", "12", "", "1a", "\u0661"},
        {"\\D\\S\\W\\H\\V", "aa-aa", "\u0661\u00a0\u00e9\u00e9x", "1aaaa"},
        {"\\w+\\s\\w+", "a b", "a\u00a0b", "a\u000bb", "\u00e9 b"},
        {"\\h+", " \t\u00a0\u3000\u180e", "\n"},
        {"\\v+", "\n\u000b\f\r\u0085\u2028", " "},
        {"\\R", "\n", "\r\n", "\r", "\n\r", "\u2028"},
        {"[\\h]x[^\\h]", " xx", "xxx", " x "},
        {"a|ab", "a", "ab", "abc"},
        {"a||b", "", "a", "b"},
        {"(a|ab)(c|bcd)(d*)", "abcd", "abcdd", "acd"},
        {"(a)|b", "a", "b"},
        {"(a*)*", "", "aa", "b"},
        {"(a|b)*", "", "abab"},
        {"(?:a(b)?)+", "aba", "ab", "aa"},
        {"(a+)(a*)", "aaa"},
        {"(a+?)(a*)", "aaa"},
        {"(a??)(a?)", "a"},
        {"(a{2,3}?)(a*)", "aaaa"},
        {"a{2}", "a", "aa", "aaa"},
        {"a{2,}", "a", "aaaa"},
        {"a{0}", "", "a"},
        {"a{2}{3}", "aa", "aaaaaa"},
        {"{2}a", "a", "aa"},
        {"a++b", "aaab", "aaa"},
        {"a++a", "aaa"},
        {"a*+", "", "aa"},
        {"a?+a", "a", "aa"},
        {"(?>a|ab)c", "ac", "abc"},
        {"x{2}+y", "xxy", "xxxy"},
        {"(?<year>\\d{4})-(?<month>\\d\\d)", "2024-01", "24-1"},
        {"(?<n>a)\\k<n>", "aa", "ab"},
        {"(a)(b)\\2\\1", "abba", "abab"},
        {"(a)\\11", "aa1", "aa"},
        {"(a)?\\1b", "b", "aab"},
        {"\\1", "", "a"},
        {"(a)\\2", "a", "aa"},
        {"(?i)(a)\\1", "aA", "AA", "ab"},
        {"(?=ab)a.", "ab", "ac"},
        {"(?!ab)a.", "ab", "ac"},
        {"a(?<=a)b", "ab"},
        {"a(?<!a)b", "ab"},
        {"(?<=a{1,2})b", "b"},
        {".*(?<=bc|d)x", "abcx", "dx", "cx"},
        {"^/api/(?!internal).*$", "/api/x", "/api/internal", "/api/internalx", "/api/"},
        {"^a$", "a", "a\n", "\na"},
        {"a$\n", "a\n", "a"},
        {"a$\r\n", "a\r\n"},
        {"a\r$\n", "a\r\n"},
        {"a\\Z\n", "a\n", "a\r"},
        {"a\\z", "a", "a\n"},
        {"\\Aa\\z", "a"},
        {"(?m)a$\n^b", "a\nb", "ab"},
        {"(?m)a$.*", "a"},
        {"(?ms)^a$.^b$", "a\nb", "a\rb", "a\u2028b"},
        {"(?md)^a$.^b$", "a\rb"},
        {"(?msd)^a$.^b$", "a\nb", "a\rb"},
        {"^*a", "a"},
        {"\\bfoo\\b", "foo"},
        {"a\\b-\\B-", "a--"},
        {"a\\Bb", "ab"},
        {"\\ba", "a"},
        {"a\\b\\.b", "a.b"},
        {"(?i)abc", "ABC", "aBc", "abd"},
        {"(?i)k", "K", "\u212a"},
        {"(?iu)k", "K", "\u212a"},
        {"(?iu)[j-l]", "K", "\u212a"},
        {"(?i)\u00e9", "\u00e9", "\u00c9"},
        {"(?iu)\u00e9", "\u00e9", "\u00c9"},
        {"(?i)[a-c]x[^d]", "BXE", "bxD", "bxd"},
        {"(?i)[Z-a]", "A", "z", "_", "b"},
        {"a(?i)b(?-i)c", "aBc", "aBC", "ABc"},
        {"a(?i:b)c", "aBc", "aBC"},
        {"(a(?i)b|c)d", "aBd", "Cd", "CD"},
        {"(?i)\\p{Lower}\\p{Upper}", "aB", "Ab", "1b"},
        {"(?i)\\p{Lu}\\p{javaLowerCase}\\p{IsUppercase}\\p{Lt}", "aAaA", "1AaA"},
        {"(?s)a.b", "a\nb", "a\u2029b"},
        {"(?d)a.b", "a\rb", "a\nb"},
        {"(?s-s)a.b", "a\nb", "axb"},
        {"(?x) a b # comment", "ab", "a b"},
        {"(?x)a\\ b", "a b"},
        {"(?x)a + b", "aab"},
        {"(?x)[a b]", "a", " "},
        {"(?x)a#c\nb", "ab"},
        {"(?U)\\w+", "\u00e9a", "-"},
        {"(?U)\\d", "\u0661", "1"},
        {"(?U)\\p{Alpha}\\p{Lower}\\p{Upper}\\s", "\u00e9\u00e9\u00c9\u00a0"},
        {"\\Qa.b\\E", "a.b", "axb"},
        {"\\Qa*\\E+", "a**", "a*a*"},
        {"\\Q(a", "(a"},
        {"a\\Q\\E*", "", "aa"},
        {"[\\Q^-]\\E]+", "^-]", "a"},
        {"[abc]", "a", "d"},
        {"[^abc]", "a", "d", "\n"},
        {"[a-cx-z]", "b", "y", "m"},
        {"[a-]+", "a-", "b"},
        {"[-a]+", "a-", "b"},
        {"[a-b-c]+", "ab-c", "d"},
        {"[!--]+", "!,-", "."},
        {"[]a]+", "]a", "b"},
        {"[^]a]", "]", "b"},
        {"[a^]+", "a^"},
        {"[a&]+", "a&"},
        {"[a&b]+", "a&b"},
        {"[.*+?$(){}|]+", ".*+?$(){}|", "a"},
        {"[\\]\\[\\\\\\-]+", "][\\-", "a"},
        {"[[a]b]+", "ab", "["},
        {"[a[bc]]+", "abc", "d"},
        {"[^[a]b]", "a", "b", "c"},
        {"[^[^a]b]", "a", "b", "c"},
        {"[a-z&&[^aeiou]]+", "xyz", "xa"},
        {"[a-z&&[def]g]", "d", "g", "a"},
        {"[a-d&&b-f]", "a", "b", "e"},
        {"[^a-d&&c-f]", "a", "c", "e", "g"},
        {"[abc&&bcd&&cde]", "b", "c", "d"},
        {"[&&a]", "a", "&"},
        {"[a&&]", "a", "&"},
        {"[a-z&&^b]", "b", "^", "a"},
        {"[a-z&&\\w&&[^x]]", "a", "x", "_"},
        {"[\\d-z]+", "1-z", "a"},
        {"[\\w.]+", "a.b", "a-b"},
        {"[^\\s,]+", "ab", "a b"},
        {"[\\p{L}&&[^a]]", "b", "a", "\u00e9", "1"},
        {"[\\p{L}\\d_]+", "\u00e91_", "-"},
        {"[^\\p{L}]", "a", "1", "\u00e9"},
        {"[\\P{L}&&\\P{N}]", "a", "1", "-"},
        {"\\p{Alpha}\\p{Digit}\\p{Punct}\\p{XDigit}", "a1$f", "\u00e91$f"},
        {"\\p{Lower}\\p{Upper}\\p{Alnum}\\p{Space}", "aA1 ", "\u00e9A1 "},
        {"\\p{ASCII}\\p{Graph}\\p{Print}\\p{Blank}\\p{Cntrl}", "a!\u0020\t\u0001", "\u00e9! \t\u0001"},
        {"\\pL\\PL", "a1", "1a"},
        {"\\p{L}\\p{Lu}\\p{N}\\p{Nd}\\p{P}\\p{S}\\p{Z}\\p{C}", "\u00e9A1\u0661-+ \u0001"},
        {"\\p{IsL}\\p{IsAlphabetic}\\p{IsDigit}\\p{IsPunctuation}", "aa1-", "aa1+"},
        {"\\p{IsLatin}\\p{IsGreek}\\p{IsCyrillic}\\p{IsHan}", "a\u03b1\u0431\u4f60", "\u03b1\u03b1\u0431\u4f60"},
        {"\\p{script=Greek}\\p{sc=Hira}", "\u03b1\u3042", "ab"},
        {"\\p{InGreek}\\p{InCyrillic}\\p{block=CJKUnifiedIdeographs}", "\u03b1\u0431\u4f60"},
        {"\\p{javaLowerCase}\\p{javaUpperCase}\\p{javaWhitespace}", "\u00e9A\t", "aA\u00a0"},
        {"\\p{javaLetter}\\p{javaDigit}\\p{javaLetterOrDigit}", "a1\u0661", "1aa"},
        {"\\p{LC}\\p{LD}\\p{L1}\\p{all}\\p{gc=Lu}", "a1\u00ff\u4f60A"},
        {"\\P{IsAlphabetic}", "1", "a"},
        {"\\t\\n\\r\\f\\a\\e\\x41\\u0042\\x{1F600}\\0101\\cA", "\t\n\r\f\u0007\u001bAB\ud83d\ude00A\u0001"},
        {"\\08", "8"},
        {"\\ud83d\\ude00", "\ud83d\ude00"},
        {"[\\x{1F600}-\\x{1F610}]", "\ud83d\ude00", "\ud83d\ude20"},
        {"\\_\\-\\/\\<\\>\\ \\#\\@", "_-/<> #@"},
        {"}]", "}]"},
        {"/red/?(?<segment>.*)", "/red/a/b", "/red", "/redx", "/blue"},
        {"/(?<version>v\\d+)/(?<rest>.*)", "/v1/a/b", "/v/a"},
        {"^/foo/(?<id>[0-9a-f]{8}-[0-9a-f]{4})$", "/foo/0123abcd-ef01", "/foo/0123abcd-ef0"},
        {"(?:/a)?/b(?:/(?<r>.*))?", "/b", "/a/b/c/d", "/b/", "/a"},
        {"https?://([^/:]+)(?::(\\d+))?(/.*)?", "http://h:80/p", "https://h", "ftp://h"},
        {"[\\w.+-]+@[\\w-]+\\.[\\w.]+", "a.b+c@d-e.fg", "a@b"},
        {"(\\d{1,3}\\.){3}\\d{1,3}", "10.0.0.1", "10.0.0"},
        {"(?i)^bearer\\s+(.+)$", "Bearer abc", "bearer\tx", "basic x"},
        {"(?!.*(?:secret|private)).*", "/public", "/a/secret/b"},
        {"(?=.*\\d)(?=.*[a-z]).{3,5}", "a1b", "abc", "a1bcde"},
        {"(?:(?:a|b)c)*d?", "", "acbc", "acd", "ab"},
        {"((a)|(b))+", "ab", "ba"},
        {"(a(b)?)+", "aba"},
        {"(?:x|(y))*z", "xyxz"},
        {"mobile|Android|iPhone", "Android", "android"},
        {".*(mobile|Android).*", "Mozilla (Android 9)", "Mozilla (X11)"},
        {"gr(?:e|a)y+", "greyyy", "gry"},
        {"\u4f60.", "\u4f60\u597d", "\u4f60"},
    };

    /** Expression, replacement, texts. */
    static final String[][] REPLACE = {
        {"/red/?(?<segment>.*)", "/${segment}", "/red/a/b", "/red", "/blue", "/a/red/b"},
        {"^/api/(.*)$", "/$1", "/api/x", "/api/", "/x/api/y", "/api/x\n", "/api/x\r\n"},
        {"/api", "", "/api/api/x", "/x"},
        {".*", "x", "", "abc", "a\nb"},
        {".+", "x", "", "abc"},
        {"x*", "-", "abc", "axxb", "", "\u00e9x"},
        {"(a)(b)?", "[$1|$2]", "ab ac"},
        {"(a)", "$11", "a"},
        {"a", "\\$1\\\\", "a"},
        {"a", "$0$0", "aba"},
        {"a", "${", "a", "b"},
        {"a", "$", "a"},
        {"a", "\\", "a"},
        {"a", "$1", "a"},
        {"(?<n>a)", "${m}", "a"},
        {"(?<n>a)", "${n}${n}", "aa"},
        {"(?<n>a)", "$1", "ba"},
        {"a|ab", "-", "abab"},
        {"\\b", "|", "ab cd"},
        {"\\d{2}", "#", "12345"},
        {"(?<=/)\\d+(?=/|$)", "{id}", "/users/12/posts/3", "/a1/2"},
        {"(?i)secret=[^&]*", "secret=***", "a=1&SECRET=x&b=2&secret=y"},
        {"^", ">", "a\nb"},
        {"(?m)^", ">", "a\nb\n"},
        {"$", "<", "a\n", "a", "a\r\n"},
        {"(?m)$", "<", "a\nb\n", "a\r\nb"},
        {"\\Z", "<", "a\n"},
        {"\\z", "<", "a\n"},
        {"\\Ga", "-", "aaba"},
        {"(\\w)(\\w)", "$2$1", "abcde"},
        {"\\s+", " ", "a \t b\n\nc"},
        {"(?s)<.*?>", "", "<a>b<c\nd>e"},
        {"(a+)+b", "x", "aaaab", "aaaa"},
        {"([^/]+)/\\1", "$1", "/a/a/b/c"},
        {"a++", "-", "aaba"},
        {"http://[^/]*:\\d+", "https://public", "http://h:8080/x http://h/y"},
    };

    /** Expressions that are only compiled. */
    static final String[] SYNTAX = {
        "{foo}", "a{foo}", "a{,3}", "a**", "*a", "+", "?", "a+++", "a{2", "a{", "{", "}", "]", "[a",
        "[z-a]", "[a-\\d]", "[\\d-z]", "^*", "(?=a)*", "()", "(?<n>a)(?<n>b)", "(?<1>a)", "(?<n_a>b)",
        "(?<>a)", "\\k<x>", "\\k<x>(?<x>a)", "\\k", "\\y", "\\i", "\\q", "\\p{Foo}", "\\p{IsFoo}",
        "\\p{InFoo}", "\\p{foo=bar}", "\\x4", "\\u12", "\\0", "\\c", "(?z)a", "(", "a)", "(?", "(?<",
        "\\E", "a{2147483648}", "a{3,2}", "\\", "[\\", "\\p{L", "\\p{^L}", "\\C", "\\K", "(?#c)a",
        "(?P<n>a)", "(?'n'a)", "(?|a)", "[\\b]", "[\\R]", "\\x{110000}", "a{ 1}", "(?:a", "[a--]",
        "[", "[]", "[^]", "[[a]", "(?i", "(?i-", "(?-i)a", "(?)a", "(?:)", "(?<n>", "a|*", "(|a)",
        "(*a)", "[a-z&&", "\\Q(", "[\\Q]", "(?<=a+)b", "(?<=a*)b",
    };

    public static void main(String[] arguments) {
        for (String[] row : FULL) {
            for (int at = 1; at < row.length; at++) {
                print("full", row[0], row[at], full(row[0], row[at]));
            }
        }
        for (String[] row : REPLACE) {
            for (int at = 2; at < row.length; at++) {
                print("replace", row[0], row[at], row[1], replace(row[0], row[at], row[1]));
            }
        }
        for (String expression : SYNTAX) {
            print("syntax", expression, syntax(expression));
        }
        Random random = new Random(arguments.length > 1 ? Long.parseLong(arguments[1]) : 1);
        int rows = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1000;
        for (int row = 0; row < rows; row++) {
            String expression = alternation(random, 3);
            String text = text(random);
            print("full", expression, text, full(expression, text));
            print("replace", expression, text, "<$0>", replace(expression, text, "<$0>"));
        }
    }

    static final String[] ATOMS = {
        "a", "b", "c", "ab", ".", "[ab]", "[^a]", "\\w", "\\W", "a", "b", "[b-c&&[^c]]", "-", "\\.",
        "^", "$", "\\b", "\\B", "\\z", "(?i:A)",
    };

    static final String[] QUANTIFIERS = {
        "", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "++", "*+",
    };

    static String alternation(Random random, int depth) {
        String branches = concatenation(random, depth);
        while (random.nextInt(4) == 0) {
            branches += "|" + concatenation(random, depth);
        }
        return branches;
    }

    static String concatenation(Random random, int depth) {
        StringBuilder expression = new StringBuilder();
        for (int atoms = random.nextInt(4); atoms > 0; atoms--) {
            expression.append(atom(random, depth));
            expression.append(QUANTIFIERS[random.nextInt(QUANTIFIERS.length)]);
        }
        return expression.toString();
    }

    static String atom(Random random, int depth) {
        if (depth > 0 && random.nextInt(3) == 0) {
            String[] opens = {"(", "(", "(", "(?:", "(?:", "(?=", "(?!", "(?>"};
            return opens[random.nextInt(opens.length)] + alternation(random, depth - 1) + ")";
        }
        return ATOMS[random.nextInt(ATOMS.length)];
    }

    static String text(Random random) {
        StringBuilder text = new StringBuilder();
        for (int length = random.nextInt(7); length > 0; length--) {
            text.append("aaabbbccAB.-".charAt(random.nextInt(12)));
        }
        return text.toString();
    }

    static String full(String expression, String text) {
        try {
            Matcher matcher = Pattern.compile(expression).matcher(text);
            if (!matcher.matches()) {
                return "no match";
            }
            StringBuilder groups = new StringBuilder();
            for (int group = 0; group <= matcher.groupCount(); group++) {
                String found = matcher.group(group);
                groups.append(found == null ? "-" : "<" + found + ">");
            }
            return groups.toString();
        } catch (PatternSyntaxException refused) {
            return "refused";
        }
    }

    static String replace(String expression, String text, String replacement) {
        try {
            return "=" + Pattern.compile(expression).matcher(text).replaceAll(replacement);
        } catch (IllegalArgumentException | IndexOutOfBoundsException failure) {
            return "failure";
        }
    }

    static String syntax(String expression) {
        try {
            Pattern.compile(expression);
            return "accepted";
        } catch (PatternSyntaxException refused) {
            return "refused";
        }
    }

    static final Map<Character, String> ESCAPES =
            Map.of('\\', "\\\\", '\t', "\\t", '\n', "\\n", '\r', "\\r");

    static void print(String... columns) {
        StringBuilder line = new StringBuilder();
        for (String column : columns) {
            line.append(line.length() == 0 ? "" : "\t");
            column.codePoints().forEach(code -> {
                String escape = code < 128 ? ESCAPES.get((char) code) : null;
                if (escape != null) {
                    line.append(escape);
                } else if (code < 32 || code >= 127) {
                    line.append(String.format("\\u{%x}", code));
                } else {
                    line.appendCodePoint(code);
                }
            });
        }
        System.out.println(line);
    }
}
