import java.io.PrintStream;
import java.util.Collection;

/** Events as JSON, one per line, on standard output. */
final class Events {
    private static final PrintStream OUT = System.out;

    /** Prints an event with pairs of a name and a value. */
    static void print(String event, Object... pairs) {
        StringBuilder line = new StringBuilder("{\"event\":");
        append(line, event);
        line.append(",\"at\":").append(System.nanoTime()); // the steady clock of the machine
        for (int i = 0; i < pairs.length; i += 2) {
            append(line.append(','), pairs[i]);
            append(line.append(':'), pairs[i + 1]);
        }
        synchronized (OUT) {
            OUT.println(line.append('}'));
            OUT.flush();
        }
    }

    private static void append(StringBuilder line, Object value) {
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

    private Events() {}
}
