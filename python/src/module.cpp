#include "bind.h"

NB_MODULE(_wick, m) {
  using namespace wick::python;
  m.attr("__version__") = WICK_VERSION;
  watch_forks();
  bind_errors(m);
  bind_dtype(m);
  bind_device(m);
  bind_tensor(m);
  bind_var(m);
  bind_operators(m);
  bind_interop(m);
  bind_streams(m);
  bind_kernels(m);
  bind_extremes(m);
  bind_ops(m);
  bind_spellings(m);
  bind_pytorch(m);
  bind_function(m);
  bind_files(m);
  bind_quantized(m);
  bind_optim(m);
  bind_dist(m);
  bind_language(m);
  bind_images(m);
}
