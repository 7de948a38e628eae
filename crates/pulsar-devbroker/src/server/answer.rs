//! How each request is told that it failed.

use pulsar_wire::proto::*;
use pulsar_wire::{Command, ServerError};

/// The request id of an error that answers CONNECT.
const NO_REQUEST: u64 = u64::MAX;

/// The answer to a request that failed; `None` for what has no answer.
pub(super) fn failure(request: &Command, error: ServerError, message: String) -> Option<Command> {
    let code = error.code();
    let answer = match request {
        Command::Send(send) => CommandSendError {
            producer_id: send.producer_id,
            sequence_id: send.sequence_id,
            error: code,
            message,
        }
        .into(),
        Command::LookupTopic(lookup) => CommandLookupTopicResponse {
            response: Some(LookupType::Failed as i32),
            request_id: lookup.request_id,
            error: Some(code),
            message: Some(message),
            ..Default::default()
        }
        .into(),
        Command::PartitionMetadata(question) => CommandPartitionedTopicMetadataResponse {
            response: Some(MetadataLookupType::Failed as i32),
            request_id: question.request_id,
            error: Some(code),
            message: Some(message),
            ..Default::default()
        }
        .into(),
        Command::Ack(ack) => CommandAckResponse {
            consumer_id: ack.consumer_id,
            request_id: Some(ack.request_id?),
            error: Some(code),
            message: Some(message),
            ..Default::default()
        }
        .into(),
        Command::GetSchema(question) => CommandGetSchemaResponse {
            request_id: question.request_id,
            error_code: Some(code),
            error_message: Some(message),
            ..Default::default()
        }
        .into(),
        Command::GetOrCreateSchema(question) => CommandGetOrCreateSchemaResponse {
            request_id: question.request_id,
            error_code: Some(code),
            error_message: Some(message),
            ..Default::default()
        }
        .into(),
        Command::Connect(_) => error_answer(NO_REQUEST, code, message),
        other => error_answer(other.request_id()?, code, message),
    };
    Some(answer)
}

fn error_answer(request_id: u64, error: i32, message: String) -> Command {
    CommandError {
        request_id,
        error,
        message,
    }
    .into()
}
