// A stand-in for libamdhip64: the part of the HIP runtime a framework needs, on host memory, every kernel run by the emulator.
//   build: sh build.sh      use: LD_PRELOAD=.../libhipemu.so AMDEMU_ARCH=gfx1100 TINYGRAD_ROOT=... ./program
// All work is done at once in the calling thread: streams and events are only names, but for stream capture.
#include <hip/hip_runtime_api.h>
#include <hip/hip_ext.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <time.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))
#undef hipGetDeviceProperties
#undef hipChooseDevice

struct Capture;
struct ihipStream_t { unsigned flags; int priority, dev; Capture* cap = nullptr; std::vector<int> tail; std::vector<hipGraphNode_t> shown; };   // tail: what the next captured node depends on
struct ihipEvent_t { double t; bool set; unsigned flags; unsigned long long cap = 0; std::vector<int> tail; };
struct ihipMemPoolHandle_t { int dummy; };
struct ihipModuleSymbol_t;
struct ihipModule_t { const void* image; int dev; std::map<int, long> id; std::map<std::pair<int, std::string>, ihipModuleSymbol_t*> fns; std::vector<unsigned char> owned; };   // id, fns: for each device it was needed on
struct ihipModuleSymbol_t { ihipModule_t* mod; int dev; std::string name; struct { int regs, lds, priv, maxthreads; } info; std::vector<std::pair<int, int>> args; };   // args: offset, size

// ---------------------------------------------------------------- environment and errors
static const char* env(const char* n, const char* d) { const char* v = getenv(n); return v && *v ? v : d; }
static std::vector<std::string> list(const std::string& s) { std::vector<std::string> v; for (size_t i = 0, j; i <= s.size(); i = j + 1) { j = std::min(s.find(',', i), s.size()); v.push_back(s.substr(i, j - i)); } return v; }
struct Device { std::string arch; bool integrated; std::set<int> peers; size_t used; };   // peers: devices whose memory this one may touch
static std::vector<Device>& devs() {
  static auto* all = [] {
    auto* d = new std::vector<Device>; auto archs = list(env("AMDEMU_ARCH", "gfx1100")); int n = atoi(env("AMDEMU_DEVICES", "0"));
    for (size_t i = 0; i < (n > 0 ? n : archs.size()); i++) d->push_back({archs[std::min(i, archs.size() - 1)], false, {}, 0});
    for (auto& i : list(env("AMDEMU_INTEGRATED", "-1"))) if ((size_t)atoi(i.c_str()) < d->size()) (*d)[atoi(i.c_str())].integrated = true;
    return d;
  }();
  return *all;
}
static thread_local int cur;                              // this thread's device
static bool is_dev(int d) { return d >= 0 && d < (int)devs().size(); }
static std::string arch(int d) { return devs()[d].arch; }
static bool cdna(int d) { return arch(d) == "gfx942" || arch(d) == "gfx950"; }
static int verbose() { static int v = atoi(env("AMDEMU_VERBOSE", "0")); return v; }
static thread_local hipError_t last = hipSuccess;
#define ret(e) ret_(e, __func__)
static hipError_t ret_(hipError_t e, const char* who) { if (e != hipSuccess) { last = e; if (verbose()) fprintf(stderr, "[hipemu] %s returns error %d\n", who, (int)e); } return e; }
static std::recursive_mutex lock;
typedef std::lock_guard<std::recursive_mutex> Guard;
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }

// ---------------------------------------------------------------- the Python side
struct Calls {   // filled in by hipshim.py
  long (*load)(const void* image, const char* arch);                                                // module id, or minus the error
  int (*kernel)(long mod, const char* name, int* info);                                             // 0, or not there; info: registers, LDS, scratch, threads, number of arguments, their offsets and sizes
  int (*launch)(long mod, const char* name, const unsigned* dims, unsigned dyn, const void* args, size_t size);
  int (*symbol)(long mod, const char* name, void** ptr, size_t* size);
  void (*finish)();
};
static Calls calls; static bool ready;
API void hipemu_set_calls(const Calls* c) { calls = *c; ready = true; }
API void hipemu_where(uintptr_t p, char* out, size_t n);   // what lies at an address, in words

__attribute__((destructor)) static void at_end() { auto isinit = (int (*)())dlsym(RTLD_DEFAULT, "Py_IsInitialized"); if (ready && isinit && isinit()) calls.finish(); }

static std::string here() { Dl_info i; dladdr((void*)&hipemu_set_calls, &i); std::string p = i.dli_fname; size_t s = p.rfind('/'); return s == std::string::npos ? "." : p.substr(0, s); }
static bool start_python() {
  if (ready) return true;
  auto sym = [](const char* n) { return dlsym(RTLD_DEFAULT, n); };
  if (!sym("Py_InitializeEx")) {
    const char* names[] = {getenv("AMDEMU_LIBPYTHON"), "libpython3.14.so.1.0", "libpython3.13.so.1.0", "libpython3.12.so.1.0", "libpython3.11.so.1.0"};
    void* h = nullptr; for (auto n : names) if (n && !h) h = dlopen(n, RTLD_NOW | RTLD_GLOBAL);
    if (!h) { fprintf(stderr, "[hipemu] no libpython: set AMDEMU_LIBPYTHON\n"); return false; }
  }
  auto isinit = (int (*)())sym("Py_IsInitialized"); auto init = (void (*)(int))sym("Py_InitializeEx");
  auto run = (int (*)(const char*, void*))sym("PyRun_SimpleStringFlags"); auto ensure = (int (*)())sym("PyGILState_Ensure");
  auto release = (void (*)(int))sym("PyGILState_Release"); auto save = (void* (*)())sym("PyEval_SaveThread");
  if (!isinit || !init || !run) { fprintf(stderr, "[hipemu] Python's C API is not to be found\n"); return false; }
  std::string dir = here(); if (access((dir + "/hipshim.py").c_str(), R_OK)) dir += "/.."; dir = env("AMDEMU_DIR", dir.c_str());
  std::string code = "import sys\nsys.path.insert(0, r'" + dir + "')\nimport hipshim\nhipshim.start(" + std::to_string((unsigned long long)(void*)&hipemu_set_calls) + ", " + std::to_string((unsigned long long)(void*)&hipemu_where) + ")\n";
  bool own = !isinit(); int st = 0;
  if (own) init(0); else st = ensure();
  int rc = run(code.c_str(), nullptr);
  if (own) save(); else release(st);
  if (rc || !ready) { fprintf(stderr, "[hipemu] the Python side did not start\n"); ready = false; return false; }
  return true;
}

// ---------------------------------------------------------------- device: queries
#define DEVICE(d) if (!is_dev(d)) return ret(hipErrorInvalidDevice)
API hipError_t hipInit(unsigned) { return hipSuccess; }
API hipError_t hipGetDeviceCount(int* n) { *n = (int)devs().size(); return hipSuccess; }
API hipError_t hipSetDevice(int d) { DEVICE(d); cur = d; return hipSuccess; }
API hipError_t hipGetDevice(int* d) { *d = cur; return hipSuccess; }
API hipError_t hipDeviceGet(hipDevice_t* d, int o) { DEVICE(o); *d = o; return hipSuccess; }
API hipError_t hipDeviceGetName(char* s, int n, hipDevice_t d) { DEVICE(d); snprintf(s, n, "emulated %s", arch(d).c_str()); return hipSuccess; }
API hipError_t hipDeviceGetUuid(hipUUID* u, hipDevice_t d) { DEVICE(d); memset(u, 7 + d, sizeof *u); return hipSuccess; }
API hipError_t hipDeviceGetPCIBusId(char* s, int n, int d) { DEVICE(d); snprintf(s, n, "0000:%02x:00.0", 3 + d); return hipSuccess; }
API hipError_t hipDeviceGetByPCIBusId(int* d, const char* s) { int b = -1; if (sscanf(s, "%*x:%x", &b) != 1 || !is_dev(b - 3)) return ret(hipErrorInvalidDevice); *d = b - 3; return hipSuccess; }
API hipError_t hipDeviceComputeCapability(int* a, int* b, hipDevice_t d) { DEVICE(d); *a = cdna(d) ? 9 : arch(d)[4] - '0' + 10; *b = cdna(d) ? arch(d)[4] - '0' : 0; return hipSuccess; }
API hipError_t hipDriverGetVersion(int* v) { *v = HIP_VERSION; return hipSuccess; }
API hipError_t hipRuntimeGetVersion(int* v) { *v = HIP_VERSION; return hipSuccess; }
API hipError_t hipSetDeviceFlags(unsigned) { return hipSuccess; }
API hipError_t hipGetDeviceFlags(unsigned* f) { *f = 0; return hipSuccess; }
API hipError_t hipDeviceReset() { return hipSuccess; }
API hipError_t hipDeviceSynchronize();
API hipError_t hipDeviceCanAccessPeer(int* c, int d, int p) { DEVICE(d); DEVICE(p); *c = d != p; return hipSuccess; }
API hipError_t hipDeviceEnablePeerAccess(int p, unsigned f) { Guard g(lock); if (f) return ret(hipErrorInvalidValue); if (!is_dev(p) || p == cur) return ret(hipErrorInvalidDevice); return devs()[cur].peers.insert(p).second ? hipSuccess : ret(hipErrorPeerAccessAlreadyEnabled); }
API hipError_t hipDeviceDisablePeerAccess(int p) { Guard g(lock); if (!is_dev(p) || p == cur) return ret(hipErrorInvalidDevice); return devs()[cur].peers.erase(p) ? hipSuccess : ret(hipErrorPeerAccessNotEnabled); }
API hipError_t hipDeviceGetP2PAttribute(int* v, hipDeviceP2PAttr a, int d, int p) { if (!is_dev(d) || !is_dev(p) || d == p) return ret(hipErrorInvalidDevice); *v = a != hipDevP2PAttrPerformanceRank; return hipSuccess; }
API hipError_t hipDeviceGetStreamPriorityRange(int* a, int* b) { *a = 0; *b = -1; return hipSuccess; }
API hipError_t hipDeviceSetCacheConfig(hipFuncCache_t) { return hipSuccess; }
API hipError_t hipDeviceSetLimit(hipLimit_t, size_t) { return hipSuccess; }
API hipError_t hipDeviceGetLimit(size_t* v, hipLimit_t) { *v = 8 << 20; return hipSuccess; }
static size_t total_mem() { return (size_t)atoll(env("AMDEMU_MEM_MB", "16384")) << 20; }
static int cus() { return atoi(env("AMDEMU_CUS", "8")); }
static int lds_max(int d) { return arch(d) == "gfx950" ? 163840 : 65536; }
static std::string gcn(int d) { return cdna(d) ? arch(d) + ":sramecc+:xnack-" : arch(d); }
API hipError_t hipDeviceTotalMem(size_t* n, hipDevice_t d) { DEVICE(d); *n = total_mem(); return hipSuccess; }

API hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* p, int d) {
  DEVICE(d);
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "emulated %s", arch(d).c_str()); snprintf(p->gcnArchName, sizeof p->gcnArchName, "%s", gcn(d).c_str());
  memset(&p->uuid, 7 + d, sizeof p->uuid);
  p->totalGlobalMem = total_mem(); p->sharedMemPerBlock = lds_max(d); p->sharedMemPerMultiprocessor = lds_max(d); p->maxSharedMemoryPerMultiProcessor = lds_max(d); p->sharedMemPerBlockOptin = lds_max(d);
  p->regsPerBlock = p->regsPerMultiprocessor = 65536; p->warpSize = cdna(d) ? 64 : 32; p->memPitch = 0x7fffffff; p->maxThreadsPerBlock = 1024; p->maxThreadsPerMultiProcessor = 2048;
  for (int i = 0; i < 3; i++) { p->maxThreadsDim[i] = 1024; p->maxGridSize[i] = i ? 65535 : 0x7fffffff; }
  p->clockRate = 2000000; p->memoryClockRate = 1000000; p->memoryBusWidth = 384; p->l2CacheSize = 6 << 20; p->totalConstMem = 0x7fffffff;
  hipDeviceComputeCapability(&p->major, &p->minor, d);
  p->multiProcessorCount = cus(); p->canMapHostMemory = 1; p->concurrentKernels = 1; p->unifiedAddressing = 1; p->managedMemory = 1; p->asyncEngineCount = 1; p->pciBusID = 3 + d; p->integrated = devs()[d].integrated;
  p->textureAlignment = p->surfaceAlignment = 256; p->texturePitchAlignment = 256; p->streamPrioritiesSupported = 1; p->memoryPoolsSupported = 1; p->clockInstructionRate = 100000; p->maxBlocksPerMultiProcessor = 32;
  p->arch.hasGlobalInt32Atomics = p->arch.hasGlobalFloatAtomicExch = p->arch.hasSharedInt32Atomics = p->arch.hasSharedFloatAtomicExch = p->arch.hasFloatAtomicAdd = p->arch.hasGlobalInt64Atomics = 1;
  p->arch.hasSharedInt64Atomics = p->arch.hasDoubles = p->arch.hasWarpVote = p->arch.hasWarpBallot = p->arch.hasWarpShuffle = p->arch.hasThreadFenceSystem = p->arch.has3dGrid = 1;
  return hipSuccess;
}
// the layout of before HIP 6: the fields up to and including warpSize agree with what old callers read; gcnArchName is what matters
API hipError_t hipGetDeviceProperties(hipDeviceProp_tR0600* p, int d) { return hipGetDevicePropertiesR0600(p, d); }
API hipError_t hipChooseDeviceR0600(int* d, const hipDeviceProp_tR0600*) { *d = 0; return hipSuccess; }

API hipError_t hipDeviceGetAttribute(int* v, hipDeviceAttribute_t a, int d) {
  DEVICE(d); hipDeviceProp_tR0600 p; hipGetDevicePropertiesR0600(&p, d);
  switch (a) {
    case hipDeviceAttributeWarpSize: *v = p.warpSize; break; case hipDeviceAttributeMaxThreadsPerBlock: *v = 1024; break; case hipDeviceAttributeMultiprocessorCount: *v = p.multiProcessorCount; break;
    case hipDeviceAttributeMaxBlockDimX: case hipDeviceAttributeMaxBlockDimY: case hipDeviceAttributeMaxBlockDimZ: *v = 1024; break;
    case hipDeviceAttributeMaxGridDimX: *v = 0x7fffffff; break; case hipDeviceAttributeMaxGridDimY: case hipDeviceAttributeMaxGridDimZ: *v = 65535; break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock: case hipDeviceAttributeSharedMemPerBlockOptin: case hipDeviceAttributeSharedMemPerMultiprocessor: case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor: *v = lds_max(d); break;
    case hipDeviceAttributeTotalConstantMemory: *v = 0x7fffffff; break; case hipDeviceAttributeMaxRegistersPerBlock: case hipDeviceAttributeMaxRegistersPerMultiprocessor: *v = 65536; break;
    case hipDeviceAttributeClockRate: *v = p.clockRate; break; case hipDeviceAttributeMemoryClockRate: *v = p.memoryClockRate; break; case hipDeviceAttributeMemoryBusWidth: *v = p.memoryBusWidth; break;
    case hipDeviceAttributeL2CacheSize: *v = p.l2CacheSize; break; case hipDeviceAttributeMaxThreadsPerMultiProcessor: *v = 2048; break; case hipDeviceAttributeMaxBlocksPerMultiProcessor: *v = 32; break;
    case hipDeviceAttributeComputeCapabilityMajor: *v = p.major; break; case hipDeviceAttributeComputeCapabilityMinor: *v = p.minor; break; case hipDeviceAttributePciBusId: *v = p.pciBusID; break; case hipDeviceAttributeIntegrated: *v = p.integrated; break;
    case hipDeviceAttributeConcurrentKernels: case hipDeviceAttributeCanMapHostMemory: case hipDeviceAttributeManagedMemory: case hipDeviceAttributeUnifiedAddressing: case hipDeviceAttributeMemoryPoolsSupported:
    case hipDeviceAttributeStreamPrioritiesSupported: case hipDeviceAttributeHostRegisterSupported: case hipDeviceAttributeAsyncEngineCount: *v = 1; break;
    case hipDeviceAttributeTextureAlignment: *v = 256; break; case hipDeviceAttributeMaxPitch: *v = 0x7fffffff; break;
    case hipDeviceAttributeWallClockRate: *v = 100000; break; default: *v = 0;
  }
  return hipSuccess;
}
API hipError_t hipMemGetInfo(size_t* f, size_t* t);

// ---------------------------------------------------------------- errors
API hipError_t hipGetLastError() { hipError_t e = last; last = hipSuccess; return e; }
API hipError_t hipPeekAtLastError() { return last; }
API hipError_t hipExtGetLastError() { return hipGetLastError(); }
API const char* hipGetErrorName(hipError_t e) {
  switch (e) {
#define E(x) case x: return #x;
    E(hipSuccess) E(hipErrorInvalidValue) E(hipErrorOutOfMemory) E(hipErrorNotInitialized) E(hipErrorInvalidDevice) E(hipErrorInvalidImage) E(hipErrorNoBinaryForGpu) E(hipErrorNotFound)
    E(hipErrorNotSupported) E(hipErrorLaunchFailure) E(hipErrorInvalidDeviceFunction) E(hipErrorInvalidConfiguration) E(hipErrorInvalidHandle) E(hipErrorNotReady) E(hipErrorNoDevice) E(hipErrorUnknown)
    E(hipErrorPeerAccessAlreadyEnabled) E(hipErrorPeerAccessNotEnabled) E(hipErrorInvalidDevicePointer) E(hipErrorInvalidSymbol) E(hipErrorFileNotFound) E(hipErrorHostMemoryNotRegistered)
    E(hipErrorIllegalState) E(hipErrorStreamCaptureUnsupported) E(hipErrorStreamCaptureInvalidated) E(hipErrorStreamCaptureMerge) E(hipErrorStreamCaptureUnmatched) E(hipErrorStreamCaptureUnjoined)
    E(hipErrorStreamCaptureImplicit) E(hipErrorCapturedEvent) E(hipErrorStreamCaptureWrongThread) E(hipErrorGraphExecUpdateFailure)
    default: return "hipError(other)";
  }
}
API const char* hipGetErrorString(hipError_t e) { return hipGetErrorName(e); }
API hipError_t hipDrvGetErrorName(hipError_t e, const char** s) { *s = hipGetErrorName(e); return hipSuccess; }
API hipError_t hipDrvGetErrorString(hipError_t e, const char** s) { *s = hipGetErrorName(e); return hipSuccess; }

// ---------------------------------------------------------------- graphs: what a capturing stream is told goes into one, in the order of recording
struct Launch { ihipModuleSymbol_t* fn; void* func; dim3 grid, block; unsigned dyn; std::vector<char> args; std::vector<void*> ptrs; unsigned edge[3] = {0, 0, 0}; };   // edge: threads of a last workgroup that is not whole; func: the kernel as the program names it
struct hipGraphNode { hipGraphNodeType type; std::vector<int> deps; std::function<hipError_t()> run; Launch k; };   // deps: numbers in the graph; a kernel runs k
struct ihipGraph { std::vector<hipGraphNode*> nodes; ~ihipGraph() { for (auto n : nodes) delete n; } };
struct hipGraphExec { std::vector<hipGraphNode*> from; std::vector<hipGraphNode> nodes; unsigned long long flags; };
struct Capture { unsigned long long id; ihipGraph* graph; hipStreamCaptureMode mode; std::thread::id thread; hipStream_t origin; std::vector<hipStream_t> streams; bool invalid; };
static std::vector<Capture*> captures; static thread_local hipStreamCaptureMode thread_mode = hipStreamCaptureModeGlobal;
static hipStream_t real(hipStream_t s) {                  // null for the default stream
  static thread_local std::map<int, ihipStream_t> mine;
  return s == hipStreamLegacy ? nullptr : s == hipStreamPerThread ? &mine.try_emplace(cur, ihipStream_t{0, 0, cur}).first->second : s;
}
static int dev_of(hipStream_t s) { s = real(s); return s ? s->dev : cur; }
static bool mine(Capture* c) { return c->mode != hipStreamCaptureModeRelaxed && c->thread == std::this_thread::get_id(); }
// Calls that may not be made while some stream captures. They end its capture as the real runtime does:
static hipError_t unsafe() {                             // allocation: in the capturing thread, or in any if the capture is global
  Guard g(lock); hipError_t e = hipSuccess;
  if (thread_mode != hipStreamCaptureModeRelaxed) for (auto c : captures) if (mine(c) || (c->mode == hipStreamCaptureModeGlobal && thread_mode == hipStreamCaptureModeGlobal)) { c->invalid = true; e = hipErrorStreamCaptureUnsupported; }
  return e;
}
static hipError_t implicit(hipError_t e = hipErrorStreamCaptureImplicit) { Guard g(lock); for (auto c : captures) c->invalid = true; return captures.empty() ? hipSuccess : e; }   // synchronous copies; device synchronisation
static hipError_t waits(hipStream_t s) {                 // for a stream
  Guard g(lock); s = real(s); if (!s) return hipSuccess;
  if (!s->cap) return unsafe();
  s->cap->invalid = true; return hipErrorStreamCaptureUnsupported;
}
static hipError_t waits(hipEvent_t e) {                  // for an event
  Guard g(lock); if (!e) return hipErrorInvalidHandle;
  for (auto c : captures) if (c->id == e->cap) { c->invalid = true; return hipErrorCapturedEvent; }
  return hipSuccess;
}
#define MAY(x) if (hipError_t e_ = (x)) return ret(e_)
static hipError_t run_launch(const Launch& k);
static hipError_t run_node(const hipGraphNode& n) { return n.type == hipGraphNodeTypeKernel ? run_launch(n.k) : n.run ? n.run() : hipSuccess; }
// An operation of a stream: recorded if the stream captures, else done.
static hipError_t enqueue(hipStream_t s, hipGraphNode n) {
  std::unique_lock<std::recursive_mutex> g(lock); s = real(s);
  if (!s || !s->cap) { g.unlock(); return run_node(n); }
  if (s->cap->invalid) return hipErrorStreamCaptureInvalidated;
  n.deps = s->tail; s->tail = {(int)s->cap->graph->nodes.size()}; s->cap->graph->nodes.push_back(new hipGraphNode(n));
  return hipSuccess;
}
template <class F> static hipError_t enqueue(hipStream_t s, hipGraphNodeType t, F f) { return enqueue(s, hipGraphNode{t, {}, f}); }

// ---------------------------------------------------------------- memory
struct Block { size_t size, body, map; char* base; bool host, managed; int dev; };
static std::map<uintptr_t, Block> blocks;
static hipError_t mem_new(void** p, size_t n, bool host, bool managed = false) {
  Guard g(lock);
  MAY(unsafe()); if (!p) return ret(hipErrorInvalidValue);
  *p = nullptr; if (!n) return hipSuccess;
  if (devs()[cur].used + n > total_mem()) return ret(hipErrorOutOfMemory);
  // AMDEMU_GUARD: the block ends at a page that must not be touched; AMDEMU_POISON: fresh memory holds this byte
  size_t page = 4096, guard = atoi(env("AMDEMU_GUARD", "0")) && !host ? page : 0, body = (n + page - 1) / page * page, map = body + guard;
  char* b = (char*)mmap(nullptr, map, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (b == MAP_FAILED) return ret(hipErrorOutOfMemory);
  if (devs().size() > 1) madvise(b, body, MADV_HUGEPAGE);   // makes Reach cheap
  if (guard) mprotect(b + body, guard, PROT_NONE);
  char* at = guard ? b + (body - (n + 15) / 16 * 16) : b;
  if (!host) { int c = (int)strtol(env("AMDEMU_POISON", "-1"), nullptr, 0); if (c >= 0) memset(at, c, n); }
  blocks[(uintptr_t)at] = {n, body, map, b, host, managed, cur}; devs()[cur].used += n; *p = at;
  return hipSuccess;
}
static hipError_t mem_del(void* p) {
  Guard g(lock);
  MAY(unsafe()); if (!p) return hipSuccess;
  auto i = blocks.find((uintptr_t)p); if (i == blocks.end()) return ret(hipErrorInvalidValue);
  munmap(i->second.base, i->second.map); devs()[i->second.dev].used -= i->second.size; blocks.erase(i);
  return hipSuccess;
}
static Block* block_of(const void* p, uintptr_t* start = nullptr) {
  auto i = blocks.upper_bound((uintptr_t)p); if (i == blocks.begin()) return nullptr; --i;
  if ((uintptr_t)p >= i->first + i->second.size) return nullptr;
  if (start) *start = i->first; return &i->second;
}
// While a kernel runs, memory of other devices is out of its reach unless it may access its peer; host and managed memory is for all.
static bool foreign(const Block& b, int dev) { return b.dev != dev && !b.host && !b.managed && !devs()[dev].peers.count(b.dev); }
static thread_local int running = -1;
struct Reach {
  int dev, was; Reach(int d) : dev(d), was(running) { running = d; set(PROT_NONE); } ~Reach() { set(PROT_READ | PROT_WRITE); running = was; }
  void set(int prot) { static bool on = devs().size() > 1 && strcmp(env("AMDEMU_GUARD", ""), "0"); if (on) for (auto& b : blocks) if (foreign(b.second, dev)) mprotect(b.second.base, b.second.body, prot); }
};
void hipemu_where(uintptr_t p, char* out, size_t n) {
  Guard g(lock); snprintf(out, n, "no memory of any device");
  auto i = blocks.upper_bound(p); if (i == blocks.begin()) return; --i;
  const Block& b = i->second; size_t at = p - i->first, past = at - b.size;
  if (at < b.size) snprintf(out, n, foreign(b, running) ? "byte %zu of %zu bytes of device %d: device %d has no peer access to it (hipDeviceEnablePeerAccess)" : "byte %zu of %zu bytes of device %d", at, b.size, b.dev, running);
  else if (past < 1 << 20) snprintf(out, n, "%zu bytes past the end of %zu bytes of device %d", past, b.size, b.dev);
}
API hipError_t hipMemGetInfo(size_t* f, size_t* t) { if (t) *t = total_mem(); if (f) *f = total_mem() - devs()[cur].used; return hipSuccess; }
API hipError_t hipMalloc(void** p, size_t n) { return mem_new(p, n, false); }
API hipError_t hipExtMallocWithFlags(void** p, size_t n, unsigned) { return mem_new(p, n, false); }
API hipError_t hipFree(void* p) { return mem_del(p); }
static hipError_t no_capture(hipStream_t s) { s = real(s); return s && s->cap ? waits(s) : hipSuccess; }   // memory nodes of graphs are not there
API hipError_t hipMallocAsync(void** p, size_t n, hipStream_t s) { MAY(no_capture(s)); return mem_new(p, n, false); }
API hipError_t hipMallocFromPoolAsync(void** p, size_t n, hipMemPool_t, hipStream_t s) { MAY(no_capture(s)); return mem_new(p, n, false); }
API hipError_t hipFreeAsync(void* p, hipStream_t s) { MAY(no_capture(s)); return mem_del(p); }
API hipError_t hipMallocManaged(void** p, size_t n, unsigned) { return mem_new(p, n, false, true); }
API hipError_t hipMallocPitch(void** p, size_t* pitch, size_t w, size_t h) { *pitch = (w + 255) / 256 * 256; return mem_new(p, *pitch * h, false); }
API hipError_t hipHostMalloc(void** p, size_t n, unsigned) { return mem_new(p, n, true); }
API hipError_t hipHostAlloc(void** p, size_t n, unsigned) { return mem_new(p, n, true); }
API hipError_t hipMallocHost(void** p, size_t n) { return mem_new(p, n, true); }
API hipError_t hipMemAllocHost(void** p, size_t n) { return mem_new(p, n, true); }
API hipError_t hipHostFree(void* p) { return mem_del(p); }
API hipError_t hipFreeHost(void* p) { return mem_del(p); }
API hipError_t hipHostRegister(void*, size_t, unsigned) { return hipSuccess; }
API hipError_t hipHostUnregister(void*) { return hipSuccess; }
API hipError_t hipHostGetDevicePointer(void** d, void* h, unsigned) { *d = h; return hipSuccess; }
API hipError_t hipHostGetFlags(unsigned* f, void*) { *f = 0; return hipSuccess; }
API hipError_t hipMemGetAddressRange(hipDeviceptr_t* b, size_t* n, hipDeviceptr_t p) { Guard g(lock); uintptr_t s; Block* k = block_of(p, &s); if (!k) return ret(hipErrorNotFound); if (b) *b = (hipDeviceptr_t)s; if (n) *n = k->size; return hipSuccess; }
API hipError_t hipPointerGetAttributes(hipPointerAttribute_t* a, const void* p) {
  Guard g(lock); memset(a, 0, sizeof *a); Block* k = block_of(p);
  if (!k) { a->type = hipMemoryTypeUnregistered; return ret(hipErrorInvalidValue); }
  a->type = k->managed ? hipMemoryTypeManaged : k->host ? hipMemoryTypeHost : hipMemoryTypeDevice; a->devicePointer = (void*)p; a->hostPointer = k->host || k->managed ? (void*)p : nullptr; a->isManaged = k->managed; a->device = k->dev; return hipSuccess;
}
API hipError_t hipMemPtrGetInfo(void* p, size_t* n) { Guard g(lock); Block* k = block_of(p); *n = k ? k->size : 0; return hipSuccess; }
static hipError_t copy(void* d, const void* s, size_t n) { Guard g(lock); if (n && (!d || !s)) return ret(hipErrorInvalidValue); if (n) memmove(d, s, n); return hipSuccess; }
static hipError_t copy2(void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h) { Guard g(lock); for (size_t i = 0; i < h; i++) memmove((char*)d + i * dp, (const char*)s + i * sp, w); return hipSuccess; }
template <class T> static hipError_t fill(void* d, size_t p, T v, size_t w, size_t h) { Guard g(lock); if (w && h && !d) return ret(hipErrorInvalidValue); for (size_t i = 0; i < h; i++) std::fill_n((T*)((char*)d + i * p), w, v); return hipSuccess; }
// the synchronous form, and the one of a stream
static hipError_t now_copy(void* d, const void* s, size_t n) { MAY(implicit()); return copy(d, s, n); }
static hipError_t later_copy(void* d, const void* s, size_t n, hipStream_t q) { return ret(enqueue(q, hipGraphNodeTypeMemcpy, [=] { return copy(d, s, n); })); }
template <class T> static hipError_t now_fill(void* d, size_t p, T v, size_t w, size_t h) { MAY(implicit()); return fill(d, p, v, w, h); }
template <class T> static hipError_t later_fill(void* d, size_t p, T v, size_t w, size_t h, hipStream_t q) { return ret(enqueue(q, hipGraphNodeTypeMemset, [=] { return fill(d, p, v, w, h); })); }
API hipError_t hipMemcpy(void* d, const void* s, size_t n, hipMemcpyKind) { return now_copy(d, s, n); }
API hipError_t hipMemcpyAsync(void* d, const void* s, size_t n, hipMemcpyKind, hipStream_t q) { return later_copy(d, s, n, q); }
API hipError_t hipMemcpyWithStream(void* d, const void* s, size_t n, hipMemcpyKind, hipStream_t q) { return later_copy(d, s, n, q); }
API hipError_t hipMemcpyHtoD(hipDeviceptr_t d, const void* s, size_t n) { return now_copy(d, s, n); }
API hipError_t hipMemcpyDtoH(void* d, hipDeviceptr_t s, size_t n) { return now_copy(d, s, n); }
API hipError_t hipMemcpyDtoD(hipDeviceptr_t d, hipDeviceptr_t s, size_t n) { return now_copy(d, s, n); }
API hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t d, const void* s, size_t n, hipStream_t q) { return later_copy(d, s, n, q); }
API hipError_t hipMemcpyDtoHAsync(void* d, hipDeviceptr_t s, size_t n, hipStream_t q) { return later_copy(d, s, n, q); }
API hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t d, hipDeviceptr_t s, size_t n, hipStream_t q) { return later_copy(d, s, n, q); }
API hipError_t hipMemcpyPeer(void* d, int a, const void* s, int b, size_t n) { DEVICE(a); DEVICE(b); return now_copy(d, s, n); }
API hipError_t hipMemcpyPeerAsync(void* d, int a, const void* s, int b, size_t n, hipStream_t q) { DEVICE(a); DEVICE(b); return later_copy(d, s, n, q); }
API hipError_t hipMemcpy2D(void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h, hipMemcpyKind) { MAY(implicit()); return copy2(d, dp, s, sp, w, h); }
API hipError_t hipMemcpy2DAsync(void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h, hipMemcpyKind, hipStream_t q) { return ret(enqueue(q, hipGraphNodeTypeMemcpy, [=] { return copy2(d, dp, s, sp, w, h); })); }
API hipError_t hipMemset(void* d, int v, size_t n) { return now_fill(d, 0, (unsigned char)v, n, 1); }
API hipError_t hipMemsetAsync(void* d, int v, size_t n, hipStream_t q) { return later_fill(d, 0, (unsigned char)v, n, 1, q); }
API hipError_t hipMemset2D(void* d, size_t p, int v, size_t w, size_t h) { return now_fill(d, p, (unsigned char)v, w, h); }
API hipError_t hipMemset2DAsync(void* d, size_t p, int v, size_t w, size_t h, hipStream_t q) { return later_fill(d, p, (unsigned char)v, w, h, q); }
API hipError_t hipMemsetD8(hipDeviceptr_t d, unsigned char v, size_t n) { return now_fill(d, 0, v, n, 1); }
API hipError_t hipMemsetD8Async(hipDeviceptr_t d, unsigned char v, size_t n, hipStream_t q) { return later_fill(d, 0, v, n, 1, q); }
API hipError_t hipMemsetD16(hipDeviceptr_t d, unsigned short v, size_t n) { return now_fill(d, 0, v, n, 1); }
API hipError_t hipMemsetD16Async(hipDeviceptr_t d, unsigned short v, size_t n, hipStream_t q) { return later_fill(d, 0, v, n, 1, q); }
API hipError_t hipMemsetD32(hipDeviceptr_t d, int v, size_t n) { return now_fill(d, 0, v, n, 1); }
API hipError_t hipMemsetD32Async(hipDeviceptr_t d, int v, size_t n, hipStream_t q) { return later_fill(d, 0, v, n, 1, q); }
API hipError_t hipMemAdvise(const void*, size_t, hipMemoryAdvise, int) { return hipSuccess; }
API hipError_t hipMemPrefetchAsync(const void*, size_t, int, hipStream_t) { return hipSuccess; }
static ihipMemPoolHandle_t pool0;
API hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* p, int) { *p = &pool0; return hipSuccess; }
API hipError_t hipDeviceGetMemPool(hipMemPool_t* p, int) { *p = &pool0; return hipSuccess; }
API hipError_t hipDeviceSetMemPool(int, hipMemPool_t) { return hipSuccess; }
API hipError_t hipMemPoolCreate(hipMemPool_t* p, const hipMemPoolProps*) { *p = &pool0; return hipSuccess; }
API hipError_t hipMemPoolDestroy(hipMemPool_t) { return hipSuccess; }
API hipError_t hipMemPoolTrimTo(hipMemPool_t, size_t) { return hipSuccess; }
API hipError_t hipMemPoolSetAttribute(hipMemPool_t, hipMemPoolAttr, void*) { return hipSuccess; }
API hipError_t hipMemPoolGetAttribute(hipMemPool_t, hipMemPoolAttr, void* v) { *(uint64_t*)v = 0; return hipSuccess; }
API hipError_t hipMemPoolSetAccess(hipMemPool_t, const hipMemAccessDesc*, size_t) { return hipSuccess; }

// ---------------------------------------------------------------- streams and events
API hipError_t hipStreamCreate(hipStream_t* s) { *s = new ihipStream_t{0, 0, cur}; return hipSuccess; }
API hipError_t hipStreamCreateWithFlags(hipStream_t* s, unsigned f) { *s = new ihipStream_t{f, 0, cur}; return hipSuccess; }
API hipError_t hipStreamCreateWithPriority(hipStream_t* s, unsigned f, int p) { *s = new ihipStream_t{f, p, cur}; return hipSuccess; }
static void end(Capture* c) { for (auto s : c->streams) s->cap = nullptr; captures.erase(std::find(captures.begin(), captures.end(), c)); delete c; }
API hipError_t hipStreamDestroy(hipStream_t s) {
  Guard g(lock); if ((uintptr_t)s <= 16) return ret(hipErrorInvalidHandle);
  if (Capture* c = s->cap) { if (c->origin == s) { delete c->graph; end(c); } else c->streams.erase(std::find(c->streams.begin(), c->streams.end(), s)); }
  delete s; return hipSuccess;
}
API hipError_t hipStreamSynchronize(hipStream_t s) { return ret(waits(s)); }
API hipError_t hipStreamQuery(hipStream_t s) { return ret(waits(s)); }
API hipError_t hipDeviceSynchronize() { return ret(implicit(hipErrorStreamCaptureUnsupported)); }
static void join(std::vector<int>& to, const std::vector<int>& from) { for (int i : from) if (std::find(to.begin(), to.end(), i) == to.end()) to.push_back(i); }
API hipError_t hipStreamWaitEvent(hipStream_t s, hipEvent_t e, unsigned) {
  Guard g(lock); if (!e) return ret(hipErrorInvalidHandle);
  for (auto c : captures) if (c->id == e->cap) {
    s = real(s); if (!s) return ret(hipErrorInvalidHandle);
    if (s->cap && s->cap != c) { s->cap->invalid = c->invalid = true; return ret(hipErrorStreamCaptureMerge); }
    if (!s->cap) { s->cap = c; s->tail.clear(); c->streams.push_back(s); }   // fork
    join(s->tail, e->tail);
  }
  return hipSuccess;
}
API hipError_t hipStreamGetFlags(hipStream_t s, unsigned* f) { *f = (uintptr_t)s > 16 ? s->flags : 0; return hipSuccess; }
API hipError_t hipStreamGetPriority(hipStream_t s, int* p) { *p = (uintptr_t)s > 16 ? s->priority : 0; return hipSuccess; }
API hipError_t hipStreamGetDevice(hipStream_t s, hipDevice_t* d) { *d = dev_of(s); return hipSuccess; }
API hipError_t hipStreamAddCallback(hipStream_t s, hipStreamCallback_t f, void* u, unsigned) { MAY(no_capture(s)); f(s, hipSuccess, u); return hipSuccess; }
API hipError_t hipLaunchHostFunc(hipStream_t s, hipHostFn_t f, void* u) { return ret(enqueue(s, hipGraphNodeTypeHost, [=] { f(u); return hipSuccess; })); }
API hipError_t hipStreamGetCaptureInfo_v2(hipStream_t s, hipStreamCaptureStatus* st, unsigned long long* id, hipGraph_t* g, const hipGraphNode_t** d, size_t* n) {
  Guard gd(lock); s = real(s); Capture* c = s ? s->cap : nullptr; if (!st) return ret(hipErrorInvalidValue);
  *st = !c ? hipStreamCaptureStatusNone : c->invalid ? hipStreamCaptureStatusInvalidated : hipStreamCaptureStatusActive;
  if (*st != hipStreamCaptureStatusActive) return hipSuccess;
  s->shown.clear(); for (int i : s->tail) s->shown.push_back(c->graph->nodes[i]);
  if (id) *id = c->id; if (g) *g = c->graph; if (d) *d = s->shown.data(); if (n) *n = s->shown.size(); return hipSuccess;
}
API hipError_t hipStreamGetCaptureInfo(hipStream_t s, hipStreamCaptureStatus* st, unsigned long long* id) { return hipStreamGetCaptureInfo_v2(s, st, id, nullptr, nullptr, nullptr); }
API hipError_t hipStreamIsCapturing(hipStream_t s, hipStreamCaptureStatus* st) { return hipStreamGetCaptureInfo_v2(s, st, nullptr, nullptr, nullptr, nullptr); }
API hipError_t hipStreamBeginCapture(hipStream_t s, hipStreamCaptureMode mode) {
  Guard g(lock); static unsigned long long ids; s = real(s);
  if (!s) return ret(hipErrorStreamCaptureUnsupported);
  if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed) return ret(hipErrorInvalidValue);
  if (s->cap) return ret(hipErrorIllegalState);
  s->cap = new Capture{++ids, new ihipGraph, mode, std::this_thread::get_id(), s, {s}, false}; s->tail.clear(); captures.push_back(s->cap);
  return hipSuccess;
}
API hipError_t hipStreamEndCapture(hipStream_t s, hipGraph_t* out) {
  Guard g(lock); s = real(s); Capture* c = s ? s->cap : nullptr;
  if (!out) return ret(hipErrorInvalidValue);
  if (!c) return ret(hipErrorIllegalState);
  if (c->origin != s) return ret(hipErrorStreamCaptureUnmatched);
  if (c->mode != hipStreamCaptureModeRelaxed && !mine(c)) return ret(hipErrorStreamCaptureWrongThread);
  hipError_t e = c->invalid ? hipErrorStreamCaptureInvalidated : hipSuccess;
  std::vector<int> open; for (int i = 0; i < (int)c->graph->nodes.size(); i++) { for (int d : c->graph->nodes[i]->deps) open.erase(std::remove(open.begin(), open.end(), d), open.end()); open.push_back(i); }
  for (int i : open) if (!e && std::find(s->tail.begin(), s->tail.end(), i) == s->tail.end()) e = hipErrorStreamCaptureUnjoined;   // what nothing depends on must be this stream's last
  *out = e ? nullptr : c->graph; if (e) delete c->graph;
  end(c); return ret(e);
}
API hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* m) { if (!m || *m < hipStreamCaptureModeGlobal || *m > hipStreamCaptureModeRelaxed) return ret(hipErrorInvalidValue); std::swap(*m, thread_mode); return hipSuccess; }
API hipError_t hipEventCreate(hipEvent_t* e) { *e = new ihipEvent_t{0, false, 0}; return hipSuccess; }
API hipError_t hipEventCreateWithFlags(hipEvent_t* e, unsigned f) { *e = new ihipEvent_t{0, false, f}; return hipSuccess; }
API hipError_t hipEventDestroy(hipEvent_t e) { delete e; return hipSuccess; }
API hipError_t hipEventRecord(hipEvent_t e, hipStream_t s) {
  Guard g(lock); if (!e) return ret(hipErrorInvalidHandle);
  s = real(s); if (s && s->cap) { if (s->cap->invalid) return ret(hipErrorStreamCaptureInvalidated); e->cap = s->cap->id; e->tail = s->tail; return hipSuccess; }
  e->cap = 0; e->t = now(); e->set = true; return hipSuccess;
}
API hipError_t hipEventRecordWithFlags(hipEvent_t e, hipStream_t s, unsigned f) {
  hipStream_t q = real(s); if (f != hipEventRecordExternal || !q || !q->cap) return hipEventRecord(e, s);
  return ret(enqueue(s, hipGraphNodeTypeEventRecord, [=] { return hipEventRecord(e, nullptr); }));   // recorded when the graph runs
}
API hipError_t hipEventSynchronize(hipEvent_t e) { return ret(waits(e)); }
API hipError_t hipEventQuery(hipEvent_t e) { return ret(waits(e)); }
API hipError_t hipEventElapsedTime(float* ms, hipEvent_t a, hipEvent_t b) { MAY(waits(a)); MAY(waits(b)); if (!a->set || !b->set) return ret(hipErrorInvalidHandle); *ms = (float)((b->t - a->t) * 1e3); return hipSuccess; }

// ---------------------------------------------------------------- modules
static long id_of(ihipModule_t* m, int dev) {             // the module on this device: loaded when first needed there
  Guard g(lock); auto i = m->id.find(dev); if (i != m->id.end()) return i->second;
  if (!start_python()) return -(long)hipErrorNotInitialized;
  return m->id[dev] = calls.load(m->image, arch(dev).c_str());
}
static ihipModuleSymbol_t* fn_of(ihipModule_t* m, int dev, const char* name) {
  Guard g(lock);
  auto& f = m->fns[{dev, name}];
  if (!f) {
    static int info[5 + 2 * 1024]; long id = id_of(m, dev);
    if (id < 0 || calls.kernel(id, name, info)) { m->fns.erase({dev, name}); return nullptr; }
    f = new ihipModuleSymbol_t{m, dev, name, {info[0], info[1], info[2], info[3]}, {}};
    for (int i = 0; i < info[4]; i++) f->args.push_back({info[5 + 2 * i], info[6 + 2 * i]});
  }
  return f;
}
static hipError_t run_launch(const Launch& k) {
  unsigned dims[9] = {k.grid.x, k.grid.y, k.grid.z, k.block.x, k.block.y, k.block.z, k.edge[0], k.edge[1], k.edge[2]};
  Guard gd(lock); Reach r(k.fn->dev);
  int rc = calls.launch(id_of(k.fn->mod, k.fn->dev), k.fn->name.c_str(), dims, k.dyn, k.args.data(), k.args.size());
  if (rc && atoi(env("AMDEMU_ABORT", "1"))) { fprintf(stderr, "[hipemu] stopping (AMDEMU_ABORT=0 goes on with hipErrorLaunchFailure)\n"); abort(); }
  return rc ? hipErrorLaunchFailure : hipSuccess;
}
static hipError_t make_launch(Launch* k, ihipModuleSymbol_t* f, void* func, dim3 g, dim3 b, size_t dyn, void** args, void** extra) {   // with the arguments' values of now
  if (!f) return hipErrorInvalidDeviceFunction;
  if (!b.x || !b.y || !b.z || (uint64_t)b.x * b.y * b.z > 1024 || !g.x || !g.y || !g.z) return hipErrorInvalidConfiguration;
  if (f->info.lds + dyn > (size_t)lds_max(f->dev) || (!args && !extra && !f->args.empty())) return hipErrorInvalidValue;
  *k = {f, func, g, b, (unsigned)dyn, {}, {}};
  const char* packed = nullptr; size_t size = 0;
  if (extra) for (int i = 0; extra[i] != HIP_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_POINTER) packed = (const char*)extra[i + 1];
    if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_SIZE) size = *(size_t*)extra[i + 1];
  }
  if (packed) k->args.assign(packed, packed + size);
  for (auto& a : f->args) if (k->args.size() < size_t(a.first + a.second)) k->args.resize(a.first + a.second);
  if (!packed) for (size_t i = 0; i < f->args.size(); i++) memcpy(&k->args[f->args[i].first], args[i], f->args[i].second);
  return hipSuccess;
}
static hipError_t launch(ihipModuleSymbol_t* f, const void* func, dim3 g, dim3 b, size_t dyn, void** args, void** extra, hipStream_t s, dim3 edge = dim3(0, 0, 0)) {
  if (f && f->dev != dev_of(s)) { fprintf(stderr, "[hipemu] %s was loaded for device %d and is launched on a stream of device %d\n", f->name.c_str(), f->dev, dev_of(s)); return ret(hipErrorInvalidHandle); }
  hipGraphNode n{hipGraphNodeTypeKernel}; MAY(make_launch(&n.k, f, (void*)func, g, b, dyn, args, extra)); n.k.edge[0] = edge.x; n.k.edge[1] = edge.y; n.k.edge[2] = edge.z;
  return ret(enqueue(s, n));
}
API hipError_t hipModuleLoadData(hipModule_t* m, const void* image) {
  if (!m || !image) return ret(hipErrorInvalidValue);
  auto* x = new ihipModule_t{image, cur}; long id = id_of(x, cur);
  if (id < 0) { delete x; return ret((hipError_t)-id); }
  *m = x; return hipSuccess;
}
API hipError_t hipModuleLoadDataEx(hipModule_t* m, const void* image, unsigned, hipJitOption*, void**) { return hipModuleLoadData(m, image); }
API hipError_t hipModuleLoad(hipModule_t* m, const char* path) {
  FILE* f = fopen(path, "rb"); if (!f) return ret(hipErrorFileNotFound);
  std::vector<unsigned char> v; unsigned char buf[65536]; size_t n; while ((n = fread(buf, 1, sizeof buf, f)) > 0) v.insert(v.end(), buf, buf + n); fclose(f);
  hipError_t e = hipModuleLoadData(m, v.data()); if (e == hipSuccess) (*m)->owned.swap(v); return e;
}
API hipError_t hipModuleUnload(hipModule_t) { return hipSuccess; }
API hipError_t hipModuleGetFunction(hipFunction_t* f, hipModule_t m, const char* n) { *f = fn_of(m, m->dev, n); return *f ? hipSuccess : ret(hipErrorNotFound); }
API hipError_t hipModuleGetGlobal(hipDeviceptr_t* p, size_t* n, hipModule_t m, const char* name) { void* q = nullptr; size_t s = 0; Guard g(lock); if (calls.symbol(id_of(m, m->dev), name, &q, &s)) return ret(hipErrorNotFound); if (p) *p = q; if (n) *n = s; return hipSuccess; }
API hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned dyn, hipStream_t s, void** a, void** e) { return launch(f, f, dim3(gx, gy, gz), dim3(bx, by, bz), dyn, a, e, s); }
API hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned dyn, hipStream_t s, void** a) { return launch(f, f, dim3(gx, gy, gz), dim3(bx, by, bz), dyn, a, nullptr, s); }
static hipError_t ext_launch(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, size_t dyn, hipStream_t q, void** a, void** e, hipEvent_t s, hipEvent_t t) {
  if (!bx || !by || !bz) return ret(hipErrorInvalidConfiguration);
  if (s) hipEventRecord(s, q);
  hipError_t r = launch(f, f, dim3((gx + bx - 1) / bx, (gy + by - 1) / by, (gz + bz - 1) / bz), dim3(bx, by, bz), dyn, a, e, q, dim3(gx % bx, gy % by, gz % bz));
  if (t) hipEventRecord(t, q);
  return r;
}
API hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, size_t dyn, hipStream_t q, void** a, void** e, hipEvent_t s, hipEvent_t t, uint32_t) { return ext_launch(f, gx, gy, gz, bx, by, bz, dyn, q, a, e, s, t); }
API hipError_t hipHccModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, size_t dyn, hipStream_t q, void** a, void** e, hipEvent_t s, hipEvent_t t) { return ext_launch(f, gx, gy, gz, bx, by, bz, dyn, q, a, e, s, t); }

// ---------------------------------------------------------------- what hipcc's host code calls
struct Wrapper { unsigned magic, version; const void* image; void* unused; };
struct Call { dim3 grid, block; size_t dyn; hipStream_t stream; };
static std::unordered_map<const void*, std::pair<ihipModule_t*, std::string>>& host_fns() { static auto* m = new std::unordered_map<const void*, std::pair<ihipModule_t*, std::string>>; return *m; }
static std::unordered_map<const void*, std::pair<ihipModule_t*, std::string>>& host_vars() { static auto* m = new std::unordered_map<const void*, std::pair<ihipModule_t*, std::string>>; return *m; }
static thread_local std::vector<Call> call_stack;
API void** __hipRegisterFatBinary(const void* w) { return (void**)new ihipModule_t{((const Wrapper*)w)->image, 0}; }
API void __hipUnregisterFatBinary(void**) {}
API void __hipRegisterFunction(void** m, const void* host, char*, const char* name, unsigned, void*, void*, void*, void*, int*) { Guard g(lock); host_fns()[host] = {(ihipModule_t*)m, name}; }
API void __hipRegisterVar(void** m, void* var, char*, char* name, int, size_t, int, int) { Guard g(lock); host_vars()[var] = {(ihipModule_t*)m, name}; }
API void __hipRegisterManagedVar(void*, void** p, void* init, const char*, size_t n, unsigned) { hipMallocManaged(p, n, 1); if (*p && init) memcpy(*p, init, n); }
API void __hipRegisterTexture(void**, void*, char*, char*, int, int, int) {}
API void __hipRegisterSurface(void**, void*, char*, char*, int, int) {}
API hipError_t __hipPushCallConfiguration(dim3 g, dim3 b, size_t dyn, hipStream_t s) { call_stack.push_back({g, b, dyn, s}); return hipSuccess; }
API hipError_t __hipPopCallConfiguration(dim3* g, dim3* b, size_t* dyn, hipStream_t* s) { if (call_stack.empty()) return hipErrorMissingConfiguration; Call c = call_stack.back(); call_stack.pop_back(); *g = c.grid; *b = c.block; *dyn = c.dyn; *s = c.stream; return hipSuccess; }
static ihipModuleSymbol_t* host_fn(const void* h, int dev = cur) {
  Guard g(lock); auto i = host_fns().find(h); if (i == host_fns().end()) return nullptr;
  return fn_of(i->second.first, dev, i->second.second.c_str());
}
API hipError_t hipLaunchKernel(const void* f, dim3 g, dim3 b, void** a, size_t dyn, hipStream_t s) { return launch(host_fn(f, dev_of(s)), f, g, b, dyn, a, nullptr, s); }
API hipError_t hipLaunchCooperativeKernel(const void* f, dim3 g, dim3 b, void** a, unsigned dyn, hipStream_t s) { return launch(host_fn(f, dev_of(s)), f, g, b, dyn, a, nullptr, s); }
API hipError_t hipExtLaunchKernel(const void* f, dim3 g, dim3 b, void** a, size_t dyn, hipStream_t q, hipEvent_t s, hipEvent_t t, int) { if (s) hipEventRecord(s, q); hipError_t r = launch(host_fn(f, dev_of(q)), f, g, b, dyn, a, nullptr, q); if (t) hipEventRecord(t, q); return r; }
API hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* c, const void* f, void** a) { return launch(host_fn(f, dev_of(c->stream)), f, c->gridDim, c->blockDim, c->dynamicSmemBytes, a, nullptr, c->stream); }
API hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG* c, hipFunction_t f, void** a, void** e) { return launch(f, f, dim3(c->gridDimX, c->gridDimY, c->gridDimZ), dim3(c->blockDimX, c->blockDimY, c->blockDimZ), c->sharedMemBytes, a, e, c->hStream); }
API hipError_t hipGetFuncBySymbol(hipFunction_t* f, const void* s) { *f = host_fn(s); return *f ? hipSuccess : ret(hipErrorInvalidDeviceFunction); }
API const char* hipKernelNameRef(const hipFunction_t f) { return f ? f->name.c_str() : nullptr; }
API const char* hipKernelNameRefByPtr(const void* h, hipStream_t) { auto* f = host_fn(h); return f ? f->name.c_str() : nullptr; }
static hipError_t var_of(const void* v, void** p, size_t* n) {
  Guard g(lock); auto i = host_vars().find(v); if (i == host_vars().end()) return ret(hipErrorInvalidSymbol);
  long id = id_of(i->second.first, cur);
  return id < 0 || calls.symbol(id, i->second.second.c_str(), p, n) ? ret(hipErrorInvalidSymbol) : hipSuccess;
}
API hipError_t hipGetSymbolAddress(void** p, const void* v) { size_t n; return var_of(v, p, &n); }
API hipError_t hipGetSymbolSize(size_t* n, const void* v) { void* p; return var_of(v, &p, n); }
API hipError_t hipMemcpyToSymbol(const void* v, const void* s, size_t n, size_t off, hipMemcpyKind) { void* p; size_t z; hipError_t e = var_of(v, &p, &z); return e ? e : now_copy((char*)p + off, s, n); }
API hipError_t hipMemcpyFromSymbol(void* d, const void* v, size_t n, size_t off, hipMemcpyKind) { void* p; size_t z; hipError_t e = var_of(v, &p, &z); return e ? e : now_copy(d, (char*)p + off, n); }
API hipError_t hipMemcpyToSymbolAsync(const void* v, const void* s, size_t n, size_t off, hipMemcpyKind, hipStream_t q) { void* p; size_t z; hipError_t e = var_of(v, &p, &z); return e ? e : later_copy((char*)p + off, s, n, q); }
API hipError_t hipMemcpyFromSymbolAsync(void* d, const void* v, size_t n, size_t off, hipMemcpyKind, hipStream_t q) { void* p; size_t z; hipError_t e = var_of(v, &p, &z); return e ? e : later_copy(d, (char*)p + off, n, q); }

// ---------------------------------------------------------------- graphs
static hipError_t listed(const std::vector<hipGraphNode*>& v, hipGraphNode_t* out, size_t* n) {
  if (!n) return hipErrorInvalidValue;
  if (out) for (size_t i = 0; i < *n; i++) out[i] = i < v.size() ? v[i] : nullptr;
  if (!out || v.size() < *n) *n = v.size(); return hipSuccess;
}
static std::vector<hipGraphNode> copies(const ihipGraph* g) { std::vector<hipGraphNode> v; for (auto n : g->nodes) v.push_back(*n); return v; }
API hipError_t hipGraphGetNodes(hipGraph_t g, hipGraphNode_t* out, size_t* n) { Guard gd(lock); return ret(g ? listed(g->nodes, out, n) : hipErrorInvalidValue); }
API hipError_t hipGraphGetRootNodes(hipGraph_t g, hipGraphNode_t* out, size_t* n) { Guard gd(lock); if (!g) return ret(hipErrorInvalidValue); std::vector<hipGraphNode*> v; for (auto x : g->nodes) if (x->deps.empty()) v.push_back(x); return ret(listed(v, out, n)); }
API hipError_t hipGraphNodeGetType(hipGraphNode_t n, hipGraphNodeType* t) { if (!n || !t) return ret(hipErrorInvalidValue); *t = n->type; return hipSuccess; }
API hipError_t hipGraphDestroy(hipGraph_t g) { if (!g) return ret(hipErrorInvalidValue); delete g; return hipSuccess; }
API hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* x, hipGraph_t g, unsigned long long f) { Guard gd(lock); if (!x || !g) return ret(hipErrorInvalidValue); *x = new hipGraphExec{g->nodes, copies(g), f}; return hipSuccess; }
API hipError_t hipGraphInstantiate(hipGraphExec_t* x, hipGraph_t g, hipGraphNode_t* bad, char* log, size_t n) { if (bad) *bad = nullptr; if (log && n) *log = 0; return hipGraphInstantiateWithFlags(x, g, 0); }
API hipError_t hipGraphInstantiateWithParams(hipGraphExec_t* x, hipGraph_t g, hipGraphInstantiateParams* p) { if (!p) return ret(hipErrorInvalidValue); hipError_t e = hipGraphInstantiateWithFlags(x, g, p->flags); p->errNode_out = nullptr; p->result_out = e ? hipGraphInstantiateError : hipGraphInstantiateSuccess; return e; }
API hipError_t hipGraphExecGetFlags(hipGraphExec_t x, unsigned long long* f) { if (!x || !f) return ret(hipErrorInvalidValue); *f = x->flags; return hipSuccess; }
API hipError_t hipGraphExecDestroy(hipGraphExec_t x) { if (!x) return ret(hipErrorInvalidValue); delete x; return hipSuccess; }
API hipError_t hipGraphUpload(hipGraphExec_t x, hipStream_t) { return x ? hipSuccess : ret(hipErrorInvalidValue); }
// In the order of recording; AMDEMU_SCHEDULE=reverse or random:SEED takes another one that the dependencies allow, so that a missing event between two streams shows.
static hipError_t run_graph(const std::vector<hipGraphNode>& v) {
  static const std::string how = env("AMDEMU_SCHEDULE", "forward"); static unsigned seed = how.find(':') == std::string::npos ? 1 : atoi(how.c_str() + how.find(':') + 1);
  std::vector<bool> done(v.size());
  for (size_t k = 0; k < v.size(); k++) {
    size_t i = k;
    if (how[0] == 'r') {
      std::vector<size_t> ready;
      for (size_t j = 0; j < v.size(); j++) if (!done[j] && std::all_of(v[j].deps.begin(), v[j].deps.end(), [&](int d) { return done[d]; })) ready.push_back(j);
      i = how[1] == 'e' ? ready.back() : ready[rand_r(&seed) % ready.size()];
    }
    if (hipError_t e = run_node(v[i])) return e;
    done[i] = true;
  }
  return hipSuccess;
}
API hipError_t hipGraphLaunch(hipGraphExec_t x, hipStream_t s) {
  if (!x) return ret(hipErrorInvalidValue);
  hipStream_t q = real(s); if (!q || !q->cap) return ret(run_graph(x->nodes));
  return ret(enqueue(s, hipGraphNodeTypeGraph, [v = x->nodes] { return run_graph(v); }));
}
API hipError_t hipGraphExecUpdate(hipGraphExec_t x, hipGraph_t g, hipGraphNode_t* bad, hipGraphExecUpdateResult* r) {
  Guard gd(lock); if (!x || !g || !bad || !r) return ret(hipErrorInvalidValue);
  *bad = nullptr; *r = g->nodes.size() == x->nodes.size() ? hipGraphExecUpdateSuccess : hipGraphExecUpdateErrorTopologyChanged;
  for (size_t i = 0; !*r && i < g->nodes.size(); i++) {
    *r = g->nodes[i]->type != x->nodes[i].type ? hipGraphExecUpdateErrorNodeTypeChanged : g->nodes[i]->deps != x->nodes[i].deps ? hipGraphExecUpdateErrorTopologyChanged : hipGraphExecUpdateSuccess;
    if (*r) *bad = g->nodes[i];
  }
  if (*r) return ret(hipErrorGraphExecUpdateFailure);
  x->nodes = copies(g); return hipSuccess;
}
API hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t n, hipKernelNodeParams* p) {   // kernelParams: our copies of the values
  Guard gd(lock); if (!n || !p || n->type != hipGraphNodeTypeKernel) return ret(hipErrorInvalidValue);
  Launch& k = n->k; k.ptrs.clear(); for (auto& a : k.fn->args) k.ptrs.push_back(&k.args[a.first]);
  *p = {k.block, nullptr, k.func, k.grid, k.ptrs.data(), k.dyn}; return hipSuccess;
}
static hipError_t set_params(hipGraphNode* n, const hipKernelNodeParams* p) {
  if (!p || n->type != hipGraphNodeTypeKernel) return hipErrorInvalidValue;
  auto* f = host_fn(p->func, n->k.fn->dev); Launch k; hipError_t e = make_launch(&k, f ? f : (ihipModuleSymbol_t*)p->func, p->func, p->gridDim, p->blockDim, p->sharedMemBytes, p->kernelParams, p->extra);
  if (!e) n->k = k; return e;
}
API hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t n, const hipKernelNodeParams* p) { Guard gd(lock); return ret(n ? set_params(n, p) : hipErrorInvalidValue); }
API hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t x, hipGraphNode_t n, const hipKernelNodeParams* p) {
  Guard gd(lock); if (!x) return ret(hipErrorInvalidValue);
  auto i = std::find(x->from.begin(), x->from.end(), n); return ret(i == x->from.end() ? hipErrorInvalidValue : set_params(&x->nodes[i - x->from.begin()], p));
}

// ---------------------------------------------------------------- function attributes, occupancy
static void attr(hipFuncAttributes* a, ihipModuleSymbol_t* f) { memset(a, 0, sizeof *a); a->numRegs = f->info.regs; a->sharedSizeBytes = f->info.lds; a->localSizeBytes = f->info.priv; a->maxThreadsPerBlock = f->info.maxthreads ? f->info.maxthreads : 1024; a->maxDynamicSharedSizeBytes = lds_max(f->dev) - f->info.lds; a->binaryVersion = a->ptxVersion = 10; }
API hipError_t hipFuncGetAttributes(hipFuncAttributes* a, const void* h) { auto* f = host_fn(h); if (!f) return ret(hipErrorInvalidDeviceFunction); attr(a, f); return hipSuccess; }
API hipError_t hipFuncGetAttribute(int* v, hipFunction_attribute k, hipFunction_t f) {
  hipFuncAttributes a; attr(&a, f);
  *v = k == HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? a.maxThreadsPerBlock : k == HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? (int)a.sharedSizeBytes : k == HIP_FUNC_ATTRIBUTE_NUM_REGS ? a.numRegs : k == HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES ? (int)a.localSizeBytes : k == HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? a.maxDynamicSharedSizeBytes : 0;
  return hipSuccess;
}
API hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int) { return hipSuccess; }
API hipError_t hipFuncSetCacheConfig(const void*, hipFuncCache_t) { return hipSuccess; }
API hipError_t hipFuncSetSharedMemConfig(const void*, hipSharedMemConfig) { return hipSuccess; }
static int fit(int block, size_t lds) { int n = block > 0 ? 2048 / block : 0; if (lds) { int k = (int)(lds_max(cur) / lds); if (k < n) n = k; } return n < 1 ? 1 : n > 32 ? 32 : n; }
API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* n, const void* h, int b, size_t dyn) { auto* f = host_fn(h); *n = fit(b, dyn + (f ? f->info.lds : 0)); return hipSuccess; }
API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, const void* h, int b, size_t dyn, unsigned) { return hipOccupancyMaxActiveBlocksPerMultiprocessor(n, h, b, dyn); }
API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* n, hipFunction_t f, int b, size_t dyn) { *n = fit(b, dyn + (f ? f->info.lds : 0)); return hipSuccess; }
API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, hipFunction_t f, int b, size_t dyn, unsigned) { return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(n, f, b, dyn); }
API hipError_t hipOccupancyMaxPotentialBlockSize(int* g, int* b, const void*, size_t, int lim) { *b = lim > 0 && lim < 256 ? lim : 256; *g = cus() * 2; return hipSuccess; }
API hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* g, int* b, hipFunction_t, size_t, int lim) { *b = lim > 0 && lim < 256 ? lim : 256; *g = cus() * 2; return hipSuccess; }

// ---------------------------------------------------------------- contexts (old driver style) and odds and ends
static hipCtx_t ctx(int d) { return (hipCtx_t)(uintptr_t)(d + 1); }
API hipError_t hipCtxCreate(hipCtx_t* c, unsigned, hipDevice_t d) { DEVICE(d); cur = d; *c = ctx(d); return hipSuccess; }
API hipError_t hipCtxDestroy(hipCtx_t) { return hipSuccess; }
API hipError_t hipCtxSetCurrent(hipCtx_t c) { return c ? hipSetDevice((int)(uintptr_t)c - 1) : hipSuccess; }
API hipError_t hipCtxGetCurrent(hipCtx_t* c) { *c = ctx(cur); return hipSuccess; }
static thread_local std::vector<int> pushed;
API hipError_t hipCtxPushCurrent(hipCtx_t c) { pushed.push_back(cur); return hipCtxSetCurrent(c); }
API hipError_t hipCtxPopCurrent(hipCtx_t* c) { if (c) *c = ctx(cur); if (!pushed.empty()) { cur = pushed.back(); pushed.pop_back(); } return hipSuccess; }
API hipError_t hipCtxGetDevice(hipDevice_t* d) { *d = cur; return hipSuccess; }
API hipError_t hipCtxSynchronize() { return hipDeviceSynchronize(); }
API hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* c, hipDevice_t d) { DEVICE(d); *c = ctx(d); return hipSuccess; }
API hipError_t hipDevicePrimaryCtxRelease(hipDevice_t) { return hipSuccess; }
API hipError_t hipDevicePrimaryCtxGetState(hipDevice_t, unsigned* f, int* a) { *f = 0; *a = 1; return hipSuccess; }
API hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t, unsigned) { return hipSuccess; }
API hipError_t hipProfilerStart() { return hipSuccess; }
API hipError_t hipProfilerStop() { return hipSuccess; }
API hipError_t hipGetProcAddress(const char* n, void** p, int, uint64_t, hipDriverProcAddressQueryResult* st) { *p = dlsym(RTLD_DEFAULT, n); if (st) *st = *p ? HIP_GET_PROC_ADDRESS_SUCCESS : HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND; return *p ? hipSuccess : ret(hipErrorNotFound); }
