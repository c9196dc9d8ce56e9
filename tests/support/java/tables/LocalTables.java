import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBRequestHandler;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBServerHandler;
import java.net.InetSocketAddress;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.ContextHandler;

/**
 * DynamoDB Local in memory, on 127.0.0.1 only: its own main class listens on every address, and reports its use.
 *
 * <p>It prints its port, and ends when its standard input does.
 */
public final class LocalTables {
    public static void main(String[] arguments) throws Exception {
        Server server = new Server(new InetSocketAddress("127.0.0.1", 0));
        // One database for all keys and regions. Tables and indexes are active at once.
        LocalDynamoDBRequestHandler requests = new LocalDynamoDBRequestHandler(0, true, null, true, false);
        server.setHandler(new ContextHandler(new LocalDynamoDBServerHandler(requests, null), "/"));
        server.start();
        System.out.println("{\"event\":\"listening\",\"port\":" + ((ServerConnector) server.getConnectors()[0]).getLocalPort() + "}");
        while (System.in.read() >= 0) {
            continue;
        }
        Runtime.getRuntime().halt(0); // nothing of it is kept
    }
}
