// SPDX-License-Identifier: Apache-2.0
#include "python/src/bind.h"

NB_MODULE(_halftone, module) {
  module.attr("version") = HALFTONE_VERSION;
  halftone::python::bind_errors();
  halftone::python::bind_network(module);
  halftone::python::bind_session(module);
  halftone::python::bind_data(module);
  halftone::python::bind_field_rows(module);
  halftone::python::bind_hardware(module);
  halftone::python::bind_jobs(module);
  halftone::python::bind_language(module);
  halftone::python::bind_language_quantize(module);
  halftone::python::bind_report(module);
  halftone::python::bind_sensitivity(module);
  halftone::python::bind_systems(module);
}
