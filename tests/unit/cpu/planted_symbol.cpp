// What must not happen in kernels: a template of an ordinary namespace whose copy stays out of
// line.
namespace wick {

template <class T>
__attribute__((noinline)) T planted(T x) {
  return x + x;
}

namespace cpu::WICK_ISA {
float call(float x) { return planted(x); }
}  // namespace cpu::WICK_ISA

}  // namespace wick
