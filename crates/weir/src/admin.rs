//! The address of a running gateway's admin API, shared by the commands that call it.

use clap::Args;

use crate::routes::client::Client;

/// The gateway that a command asks, and the form of what it prints.
#[derive(Debug, Args)]
pub struct AdminArgs {
    /// Where the gateway's admin API is.
    #[arg(long, global = true, value_name = "URL", default_value = "http://127.0.0.1:9090")]
    #[arg(env = "WEIR_ADMIN")]
    pub admin: String,
    /// The gateway's `weir.admin.token`; needed for changes from another machine. For API
    /// definitions, one of `weir.admin.tenant-tokens` too.
    #[arg(long, global = true, value_name = "TOKEN", env = "WEIR_ADMIN_TOKEN")]
    #[arg(hide_env_values = true)]
    pub token: Option<String>,
    /// Prints JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
}

impl AdminArgs {
    /// A client of that gateway.
    ///
    /// # Errors
    /// The URL is not one.
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        Client::new(&self.admin, self.token.clone())
    }
}
