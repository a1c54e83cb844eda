import java.nio.file.Path;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.harness.Neo4j;
import org.neo4j.harness.Neo4jBuilders;

/** A Neo4j server on a loopback port until its standard input ends: `Launcher FOLDER PORT [auth]`. */
public class Launcher {
    public static void main(String[] arguments) throws Exception {
        SocketAddress address = new SocketAddress("127.0.0.1", Integer.parseInt(arguments[1]));
        boolean auth = arguments.length > 2;
        try (Neo4j server = Neo4jBuilders.newInProcessBuilder(Path.of(arguments[0]))
                .withDisabledServer()
                .withConfig(BoltConnector.listen_address, address)
                .withConfig(GraphDatabaseSettings.auth_enabled, auth)
                .build()) {
            System.out.println(server.boltURI());
            while (System.in.read() >= 0) {}
        }
    }
}
