// Scores of documents of which each token has a vector.
#pragma once
#include <span>

#include "wick/core/tensor.h"

namespace wick {

/// How well documents fit a query: for each of the query's vectors the largest product with one of
/// the document's, summed over the query: sum_t max_p query[t] . document[p].
///
/// query      [T, D] floating: a vector for each token, of length 1 as models give them
/// documents  each [P, D] floating, of the query's device; P at least 1 and any other each time
/// Returns [N] f32, for N documents; the products are computed in f32. Gradients pass.
/// Errors: kShapeMismatch; kDTypeMismatch for integers; kDeviceMismatch.
/// Source: Khattab & Zaharia 2020, arXiv:2004.12832, eq. 3; for images of pages Faysse et al. 2024,
/// arXiv:2407.01449, section 3.
WICK_API Tensor late_interaction(const Tensor& query, std::span<const Tensor> documents);

}  // namespace wick
