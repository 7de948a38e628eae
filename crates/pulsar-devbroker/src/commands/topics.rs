//! GET_TOPICS_OF_NAMESPACE: the topics of a namespace, those that match a pattern where the
//! pattern is short and simple. Of an unknown namespace there are none; what is no namespace's name ends the
//! connection, as in Pulsar.

use pulsar_wire::proto::{CommandGetTopicsOfNamespace, CommandGetTopicsOfNamespaceResponse};

use crate::broker::Broker;
use crate::name;
use crate::peer::PeerId;
use crate::topic_list;

impl Broker {
    pub(super) fn on_topics_of_namespace(&mut self, peer: PeerId, question: &CommandGetTopicsOfNamespace) {
        if !name::is_namespace(&question.namespace) {
            self.close(
                peer,
                format!("a question for the topics of '{}'", question.namespace),
            );
            return;
        }
        let answer = self.topics_of_namespace(question);
        self.out.send(peer, answer);
    }

    fn topics_of_namespace(
        &self,
        question: &CommandGetTopicsOfNamespace,
    ) -> CommandGetTopicsOfNamespaceResponse {
        let pattern = question.topics_pattern.as_deref().and_then(topic_list::pattern);
        let mut topics = topic_list::topics(
            &self.catalog,
            &question.namespace,
            question.mode(),
            pattern.as_ref(),
        );
        let hash = topic_list::hash(&topics);
        let changed = question.topics_hash.as_deref() != Some(&hash);
        if !changed {
            topics.clear();
        }
        CommandGetTopicsOfNamespaceResponse {
            request_id: question.request_id,
            topics,
            filtered: Some(pattern.is_some()),
            topics_hash: Some(hash),
            changed: Some(changed),
        }
    }
}
