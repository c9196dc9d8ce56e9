import java.io.PrintStream;

/** Events as JSON, one per line, on standard output. */
final class Events {
    private static final PrintStream OUT = System.out;

    /** Prints an event with pairs of a name and a value. */
    static void print(String event, Object... pairs) {
        StringBuilder line = new StringBuilder("{\"event\":");
        Json.append(line, event);
        line.append(",\"at\":").append(System.nanoTime()); // the steady clock of the machine
        for (int i = 0; i < pairs.length; i += 2) {
            Json.append(line.append(','), pairs[i]);
            Json.append(line.append(':'), pairs[i + 1]);
        }
        synchronized (OUT) {
            OUT.println(line.append('}'));
            OUT.flush();
        }
    }

    private Events() {}
}
