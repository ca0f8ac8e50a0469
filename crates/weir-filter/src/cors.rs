//! Cross-origin resource sharing (Fetch standard; SCG: globalcors and metadata.cors).

/// Which origins may do what, by path pattern: `globalcors.cors-configurations` and every
/// `metadata.cors`.
#[derive(Clone, Debug, Default)]
pub struct CorsPolicy {}
