//! Questions of filters to the control plane, and the way back.

use tokio::sync::{mpsc, oneshot};
use weir_filter::{Answer, Question};

/// A question, and where the answer goes.
pub type Inquiry = (Question, oneshot::Sender<Answer>);

/// Questions that wait to be looked at, at most; who comes then is told that nobody answers.
pub const INQUIRIES_MAX: usize = 10_000;

/// Where workers ask.
pub type Inquiries = mpsc::Sender<Inquiry>;
