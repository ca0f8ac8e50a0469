//! Groups of routes, from the file and from the store.

use weir_testkit::{Client, Gateway, Origin, spawn_weir};

fn gateway(origin: &Origin, other: &Origin) -> Gateway {
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}
weir.admin.port: 0
weir.groups:
- id: shop
  predicates: [ Host=shop.example.org ]
  filters: [ 'AddRequestHeader=X-Group, shop', 'AddResponseHeader=X-Seen, group' ]
  uri: '{}'
  routes:
  - id: cart
    predicates: [ 'Path=/cart/{{item}}' ]
    filters: [ StripPrefix=1, 'AddResponseHeader=X-Seen, {{item}}' ]
  - {{ id: pay, predicates: [ Path=/pay ], uri: '{}' }}
- id: late
  order: 1
  predicates: [ Method=GET ]
spring.cloud.gateway.server.webflux:
  default-filters: [ 'AddResponseHeader=X-Seen, default' ]
  routes:
  - {{ id: cart-outside, uri: '{}', predicates: [ 'Path=/cart/**' ] }}
  - {{ id: blocked, uri: 'no://op', predicates: [ Path=/blocked ], filters: [ SetStatus=403 ] }}
",
        origin.uri(),
        other.uri(),
        other.uri(),
    );
    spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config)
}

fn request(method: &str, host: &str, path: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn status(client: &mut Client, host: &str, path: &str) -> u16 {
    client.send(&request("GET", host, path, "")).await;
    client.read_response().await.status
}

#[tokio::test]
async fn a_group_is_entered_by_its_predicates_and_shares_its_filters() {
    let (origin, other) = (Origin::start().await, Origin::start().await);
    let gateway = gateway(&origin, &other);
    let mut client = Client::connect(gateway.address()).await;
    client.send(&request("GET", "shop.example.org", "/cart/7", "")).await;
    let response = client.read_response().await;
    assert_eq!(response.status, 200);
    let seen = response.all("X-Seen");
    assert_eq!(seen, ["7", "group", "default"], "{response:?}");
    let got = &origin.requests()[0];
    assert_eq!((got.target().as_str(), got.field("X-Group")), ("/7", Some("shop".to_owned())));
    // The route's own uri takes precedence over the group's.
    assert_eq!(status(&mut client, "shop.example.org", "/pay").await, 200);
    assert_eq!((origin.requests().len(), other.requests().len()), (1, 1));
    // Another host does not match the group; a request that matches no route inside continues after
    // it.
    assert_eq!(status(&mut client, "else.example.org", "/cart/7").await, 200);
    assert_eq!(status(&mut client, "shop.example.org", "/cart/7/8").await, 200);
    assert_eq!(other.requests().len(), 3);
    assert_eq!(status(&mut client, "shop.example.org", "/blocked").await, 403);
    assert_eq!(status(&mut client, "shop.example.org", "/nothing").await, 404);
}

#[tokio::test]
async fn a_route_of_the_store_joins_a_group_and_leaves_it() {
    let (origin, other) = (Origin::start().await, Origin::start().await);
    let gateway = gateway(&origin, &other);
    let mut client = Client::connect(gateway.address()).await;
    let mut admin = Client::connect(gateway.admin()).await;
    let mut change = async |method: &str, id: &str, body: &str| {
        let path = format!("/actuator/gateway/routes/{id}");
        admin.send(&request(method, "localhost", &path, body)).await;
        admin.read_response().await
    };
    let joins = r#"{"group":"shop","predicates":["Path=/blocked"]}"#;
    assert_eq!(change("POST", "joined", joins).await.status, 201);
    assert_eq!(status(&mut client, "shop.example.org", "/blocked").await, 200);
    assert_eq!(status(&mut client, "else.example.org", "/blocked").await, 403);
    assert_eq!(origin.requests()[0].field("X-Group"), Some("shop".to_owned()));
    let shown = change("GET", "joined", "").await.text();
    assert!(shown.contains(r#""group":"shop""#), "{shown}");
    assert!(shown.contains("Hosts: [shop.example.org]) && Paths: [/blocked]"), "{shown}");
    assert!(shown.contains(&origin.uri()), "{shown}");
    // A group with a higher order comes after the routes without one.
    let late = format!(r#"{{"group":"late","uri":"{}","predicates":["Path=/**"]}}"#, other.uri());
    assert_eq!(change("POST", "late", &late).await.status, 201);
    assert_eq!(status(&mut client, "else.example.org", "/blocked").await, 403);
    assert_eq!(status(&mut client, "else.example.org", "/nothing").await, 200);
    let unknown = change("POST", "bad", r#"{"group":"shp","predicates":["Path=/x"]}"#).await;
    assert_eq!(unknown.status, 400);
    assert!(unknown.text().contains("did you mean `shop`"), "{}", unknown.text());
    assert_eq!(change("DELETE", "joined", "").await.status, 200);
    assert_eq!(status(&mut client, "shop.example.org", "/blocked").await, 403);
}

#[tokio::test]
async fn a_reload_gives_routes_of_the_store_what_their_group_has_become() {
    let (origin, other) = (Origin::start().await, Origin::start().await);
    let gateway = gateway(&origin, &other);
    let mut client = Client::connect(gateway.address()).await;
    let mut admin = Client::connect(gateway.admin()).await;
    let joins = r#"{"group":"shop","predicates":["Path=/joined"]}"#;
    admin.send(&request("POST", "localhost", "/actuator/gateway/routes/joined", joins)).await;
    assert_eq!(admin.read_response().await.status, 201);
    assert_eq!(status(&mut client, "shop.example.org", "/joined").await, 200);
    let before = std::fs::read_to_string(gateway.config()).expect("the configuration");
    std::fs::write(gateway.config(), before.replace("Host=shop", "Host=store")).expect("written");
    gateway.hang_up();
    gateway.wait_for_output("reloaded routes=5");
    assert_eq!(status(&mut client, "shop.example.org", "/joined").await, 404);
    assert_eq!(status(&mut client, "store.example.org", "/joined").await, 200);
    // Without its group the stored route means nothing: the file is refused, what runs goes on.
    std::fs::write(gateway.config(), before.replace("id: shop", "id: shops")).expect("written");
    gateway.hang_up();
    gateway.wait_for_output("there is no group `shop`");
    assert_eq!(status(&mut client, "store.example.org", "/joined").await, 200);
}
