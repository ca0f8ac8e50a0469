//! Imports of files and directories: no server.

use weir_testkit::Origin;

use crate::{PORTS, gateway, refusal, route, said, status, until, weir};

#[tokio::test]
async fn imported_files_and_keys_are_read_and_watched() {
    let origin = Origin::start().await;
    let application = format!(
        "{PORTS}spring.config.import: [ routes.yml, 'configtree:secrets/', 'optional:none.yml' ]\n"
    );
    let routes = route("/${first}", "${upstream.uri}");
    let files = [
        ("application.yml", application.as_str()),
        ("routes.yml", &routes),
        ("secrets/upstream/uri", &format!("{}\n", origin.uri())),
        ("secrets/first", "a"),
    ];
    let gateway = gateway(&files).await;
    assert_eq!((status(&gateway, "/a").await, status(&gateway, "/b").await), (200, 404));
    std::fs::write(gateway.directory().join("secrets/first"), "b").expect("write");
    until(gateway.address(), "/b", 200).await;
    let routes = gateway.directory().join("routes.yml");
    std::fs::write(routes, route("/c", &origin.uri())).expect("write");
    until(gateway.address(), "/c", 200).await;
    // The optional file appears later.
    std::fs::write(gateway.directory().join("none.yml"), route("/d", &origin.uri()))
        .expect("write");
    until(gateway.address(), "/d", 200).await;
}

#[tokio::test]
async fn a_file_that_is_not_there_has_a_place_and_a_remedy() {
    let application = format!("{PORTS}spring.config.import:\n- routes.yml\n- classpath:x.yml\n");
    let told = refusal(&[("application.yml", &application)]).await;
    for text in [
        "routes.yml is not there",
        "application.yml:6:3",
        "put it there, mend the location, or write `optional:` before it",
        "`classpath:x.yml` cannot be read by weir",
        "put the file beside this one and write `file:` and its name",
    ] {
        assert!(told.contains(text), "{text}: {told}");
    }
}

#[tokio::test]
async fn bootstrap_properties_are_beneath_the_application() {
    let origin = Origin::start().await;
    let application = PORTS.to_owned() + &route("${gate.path}", "${upstream}");
    let bootstrap = format!("gate.path=/low\nupstream={}\nserver.port=1\n", origin.uri());
    let profile = "gate.path=/high\n";
    let files = [
        ("application.yml", application.as_str()),
        ("bootstrap.properties", &bootstrap),
        ("bootstrap-default.properties", profile),
    ];
    let gateway = gateway(&files).await;
    assert_eq!(status(&gateway, "/high").await, 200);
    let (code, told) = weir(&gateway, &["check", "."]).await;
    assert_eq!(code, Some(0), "{told}");
    std::fs::write(gateway.directory().join("bootstrap-default.properties"), "gate.path=/other\n")
        .expect("write");
    let gateway = said(gateway, "a changed file").await;
    until(gateway.address(), "/other", 200).await;
}
