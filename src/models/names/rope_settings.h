// How rope is scaled, in config.json and in GGUF files.
#pragma once
#include "models/names/config_fields.h"

namespace wick {

/// Sets the elements of a head that rope rotates, by their share.
void set_rotary_dim(const Settings& settings, double share, DecoderConfig* c);
/// Reads theta and scaling from the group of all layers, or of full ones. trained: the trained
/// context, if the group does not say it.
void read_rope_group(const Settings& rope, const Family& family, int64_t trained, DecoderConfig* c);
/// Sets the share of pairs that full layers rotate: see Family::proportional_rope.
void set_proportional_rope(const Settings& settings, double share, DecoderConfig* c);
/// The divisor of such a pair's frequency, as in GGUF files.
inline constexpr double kUnturned = double(1e30f);
/// Whether a scaling is of this kind.
bool is_proportional(const RopeScaling& scaling);
/// Reads theta from the group of sliding layers.
void read_local_rope(const Settings& sliding, DecoderConfig* c);

/// Reads "mrope_section" and "mrope_interleaved".
void read_mrope(const Settings& settings, DecoderConfig* c);

/// "rope_scaling": the scaling, and the sections of positions in images.
Setting scaling_setting(const DecoderConfig& c);
/// Rope by the type of layer, as transformers 5 writes it.
Setting rope_parameters_setting(const DecoderConfig& c);

/// "rope_scaling" by a GGUF file's keys and tensors; nothing if it does not scale.
OptionalSetting gguf_rope_scaling(const GgufFile& file);

}  // namespace wick
