import java.util.Collection;

/** Values as JSON. */
final class Json {
    static void append(StringBuilder line, Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            line.append(value);
        } else if (value instanceof Collection) {
            String separator = "[";
            for (Object item : (Collection<?>) value) {
                append(line.append(separator), item);
                separator = ",";
            }
            line.append(separator.equals("[") ? "[]" : "]");
        } else {
            appendText(line.append('"'), value.toString());
            line.append('"');
        }
    }

    private static void appendText(StringBuilder line, String text) {
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                line.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                line.append(String.format("\\u%04x", (int) c));
            } else {
                line.append(c);
            }
        }
    }

    private Json() {}
}
