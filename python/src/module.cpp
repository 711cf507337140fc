#include "bind.h"

NB_MODULE(_wick, m) {
  using namespace wick::python;
  bind_errors(m);
  bind_dtype(m);
  bind_device(m);
  bind_tensor(m);
  bind_var(m);
  bind_operators(m);
  bind_interop(m);
  bind_ops(m);
  bind_files(m);
  bind_optim(m);
  bind_language(m);
}
