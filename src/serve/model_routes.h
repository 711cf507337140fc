// The answers of a model to requests of OpenAI's API.
#pragma once
#include "serve/metrics.h"
#include "serve/request_watch.h"
#include "serve/served_model.h"
#include "wick/serve/server.h"

namespace wick::serve {

/// A request for a model.
struct ModelCall {
  HttpExchange& exchange;
  const Fields& body;
  ServedModel& model;
  const RequestWatch& watch;
  const ServerOptions& options;
  Metrics& metrics;
  Usage& usage;
};

/// Each answers a request. Errors: RequestError, before or after the answer has begun; Error;
/// ClientGone.
void answer_chat(const ModelCall& call);
void answer_response(const ModelCall& call);
void answer_completion(const ModelCall& call);
void answer_embeddings(const ModelCall& call);
void answer_tokenize(const ModelCall& call);
void answer_detokenize(const ModelCall& call);

}  // namespace wick::serve
