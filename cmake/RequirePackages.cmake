# Stops if a library is missing, and names the Debian packages of all that are, before a compiler misses one header after another.
function(wick_require_packages)
  set(missing)
  foreach(need dnnl.hpp=libdnnl-dev cblas.h=libopenblas-dev hwy/highway.h=libhwy-dev sleef.h=libsleef-dev
          simdjson.h=libsimdjson-dev pcre2.h=libpcre2-dev utf8proc.h=libutf8proc-dev histedit.h=libedit-dev
          png.h=libpng-dev jpeglib.h=libjpeg62-turbo-dev webp/demux.h=libwebp-dev CLI/CLI.hpp=libcli11-dev
          curl/curl.h=libcurl4-openssl-dev)
    string(REGEX MATCH "^(.+)=(.+)$" matched ${need})
    set(package ${CMAKE_MATCH_2})
    find_path(folder_of_${package} ${CMAKE_MATCH_1} NO_CACHE)
    if(NOT folder_of_${package})
      list(APPEND missing ${package})
    endif()
  endforeach()
  find_program(WICK_PKG_CONFIG NAMES pkg-config pkgconf DOC "Finds libraries that have no files for CMake")
  if(NOT WICK_PKG_CONFIG)
    list(APPEND missing pkgconf)
  endif()
  if(missing)
    list(JOIN missing " " missing)
    message(FATAL_ERROR "wick is built with libraries that are missing, by Debian's names: ${missing}. "
                        "scripts/install-packages installs them.")
  endif()
endfunction()
wick_require_packages()
