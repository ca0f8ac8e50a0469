//! Answers to the questions of filters: see [`Question`].
//!
//! Each question is a task of its own, so that a slow answer delays no other, and a panic costs one
//! answer. The asker waits no longer than the question's bound; then the task is aborted, too.

mod access_token;
mod callback;
mod grpc;
mod mirror;
mod password;
mod redis;
mod subrequest;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use weir_filter::{Answer, Question};

use self::access_token::AccessTokens;
use self::callback::Callbacks;
pub use self::callback::{callbacks_prometheus, send_webhook};
use self::grpc::Grpc;
use self::mirror::Mirrors;
pub use self::mirror::{mirrors_metrics, mirrors_prometheus};
use self::password::Passwords;
use self::redis::Redis;
use crate::http::{Pool, Reach};
use crate::plane::Plane;

/// A question, and the channel for its answer.
pub type Inquiry = (Question, oneshot::Sender<Answer>);

/// Answers `first` and all that comes after it, for as long as the plane lives. Nothing that it
/// sends reaches `admin`, where the admin API of this process listens.
pub fn answer_questions(
    plane: &Plane,
    first: Inquiry,
    mut others: mpsc::Receiver<Inquiry>,
    admin: Option<SocketAddr>,
) {
    let desk = Arc::new(Desk::new(admin));
    plane.handle().spawn(async move {
        desk.take(first);
        while let Some(inquiry) = others.recv().await {
            desk.take(inquiry);
        }
    });
}

/// State that answers share between questions.
#[derive(Debug)]
struct Desk {
    redis: Redis,
    passwords: Passwords,
    access_tokens: AccessTokens,
    mirrors: Mirrors,
    grpc: Grpc,
    callbacks: Callbacks,
    /// Connections of all that ask by HTTP.
    pool: Pool,
}

impl Desk {
    fn new(admin: Option<SocketAddr>) -> Self {
        // It is the operator who says where these lead.
        let reach = Reach { admin, metadata: true };
        Self {
            redis: Redis::default(),
            passwords: Passwords::default(),
            access_tokens: AccessTokens::default(),
            mirrors: Mirrors::default(),
            grpc: Grpc::new(reach),
            callbacks: Callbacks::default(),
            pool: Pool::within(reach),
        }
    }

    fn take(self: &Arc<Self>, (question, mut asker): Inquiry) {
        let question = match question {
            Question::Mirror(copied) => return self.mirrors.send(*copied, self.pool.clone()),
            Question::Callbacks { requests, admin } => {
                let reach = Reach { admin, metadata: false };
                return requests.into_iter().for_each(|one| self.callbacks.send(one, reach));
            }
            question => question,
        };
        let desk = Arc::clone(self);
        tokio::spawn(async move {
            let bound = Duration::from_millis(question.timeout_ms());
            let answered = tokio::select! {
                answered = tokio::time::timeout(bound, desk.answer(&question)) => answered,
                // The asker is gone.
                () = asker.closed() => return,
            };
            let late = |_| Answer::Nobody(format!("not within {bound:?}"));
            // Fails only if the asker is gone.
            let _ = asker.send(answered.unwrap_or_else(late));
        });
    }

    async fn answer(&self, question: &Question) -> Answer {
        match question {
            Question::Bucket(question) => self.redis.take(question).await,
            Question::Subrequest(question) => subrequest::ask(question, &self.pool).await,
            Question::Password { hash, password, client } => {
                self.passwords.check(hash, password, *client).await
            }
            Question::AccessToken(client) => self.access_tokens.token(client, &self.pool).await,
            Question::Grpc(call) => Answer::Grpc(self.grpc.call(call).await),
            // The worker's own business, and nobody's.
            Question::Pause(_) | Question::Mirror(_) | Question::Callbacks { .. } => Answer::Passed,
            Question::Content => Answer::Nobody("the worker has the content".to_owned()),
        }
    }
}
