//! Questions of filters to the control plane, and the way back.

use tokio::sync::{mpsc, oneshot};
use weir_filter::{Answer, Question};

/// A question, and where the answer goes.
pub type Inquiry = (Question, oneshot::Sender<Answer>);

/// Maximum number of waiting questions; further ones fail at once.
pub const INQUIRIES_MAX: usize = 10_000;

/// Queue for the workers' questions.
pub type Inquiries = mpsc::Sender<Inquiry>;
