use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::Stream;
use tracing::subscriber::{NoSubscriber, with_default};

/// A stream whose work is not logged: the crate behind it logs the bodies of failed answers, in which a
/// server may echo a key.
pub(super) struct Silent<S>(pub(super) S);

impl<S: Stream + Unpin> Stream for Silent<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        with_default(NoSubscriber::default(), || Pin::new(&mut self.0).poll_next(cx))
    }
}
