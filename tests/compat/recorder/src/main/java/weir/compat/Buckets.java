package weir.compat;

import java.time.Duration;

import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.bucket4j.caffeine.CaffeineProxyManager;
import io.github.bucket4j.distributed.proxy.AsyncProxyManager;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.core.ResolvableType;
import org.springframework.context.support.GenericApplicationContext;

/** Where Bucket4j's limiter keeps its buckets: in the process, `with bucket4j`. */
final class Buckets {

	private Buckets() {
	}

	static void register(GenericApplicationContext context) {
		RootBeanDefinition buckets = new RootBeanDefinition();
		buckets.setTargetType(ResolvableType.forClassWithGenerics(AsyncProxyManager.class, String.class));
		buckets.setInstanceSupplier(Buckets::inProcess);
		context.registerBeanDefinition("buckets", buckets);
	}

	@SuppressWarnings({ "unchecked", "rawtypes", "deprecation" })
	private static AsyncProxyManager<String> inProcess() {
		return new CaffeineProxyManager<String>((Caffeine) Caffeine.newBuilder().maximumSize(100),
				Duration.ofMinutes(1)).asAsync();
	}

}
