package weir.bench.config;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.config.server.EnableConfigServer;

/** A Spring Cloud Config server over the folder that its arguments name. */
@SpringBootApplication
@EnableConfigServer
public class ConfigServer {
  public static void main(String[] arguments) {
    SpringApplication.run(ConfigServer.class, arguments);
  }
}
