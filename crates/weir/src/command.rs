//! `commands!`: the subcommands, as command-line arguments and as calls.

/// Makes `Command` of rows `file::Args: Name`. The row's comment is its help; `run` of the file
/// carries it out.
macro_rules! commands {
    ($($(#[$($doc:tt)*])* $file:ident::$args:ident: $name:ident,)*) => {
        #[derive(Debug, clap::Subcommand)]
        enum Command {
            $($(#[$($doc)*])* $name($file::$args),)*
        }

        impl Command {
            fn execute(self) -> anyhow::Result<ExitCode> {
                match self {
                    $(Self::$name(args) => $file::run(args),)*
                }
            }
        }
    };
}

pub(crate) use commands;
