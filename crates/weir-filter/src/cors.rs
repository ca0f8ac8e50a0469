//! Cross-origin resource sharing (Fetch standard; SCG: globalcors and metadata.cors).
