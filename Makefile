# SPDX-License-Identifier: Apache-2.0
# cufence.  "make help" lists the goals.  Variables: O= V=1 DEBUG=1 SAN=address,undefined
# COVERAGE=1 CUDA_HOME= CROSS= CC= CFLAGS= PREFIX= DESTDIR= CUDA_O= HOMEPAGE=
SHELL := /bin/bash
.DELETE_ON_ERROR:
.SUFFIXES:

O ?= build
# CROSS=aarch64-linux-gnu-: Debian's compilers for another machine (doc/PLATFORMS.md).
ifdef CROSS
CC := $(CROSS)gcc
CXX := $(CROSS)g++
AR := $(CROSS)ar
endif
# Below $O/root are that machine's libraries, if the simulator is built as well (tests/aarch64).
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
# The folder of compiled .cu files: no sanitizer or compiler of ours changes them, so that another
# build may use those of the first.
CUDA_O ?= $O
PREFIX ?= /usr/local
CFLAGS ?= -O2 -g
V ?= 0
Q := $(if $(filter 1,$V),,@)
comma := ,
say = $(if $(filter 1,$V),,@printf '  %-6s %s\n' "$1" "$2")

VERSION := 0.2.0
# The web page of this version; SARIF files name it.  Empty: none.
HOMEPAGE ?=

# --- deps: installs first, then makes the other goals in a fresh make, which probes anew; on all
# processors, if nothing else was asked for ------------------------------------------------------
PACKAGES := build-essential libelf-dev libdw-dev zlib1g-dev libsqlite3-dev libcmocka-dev liblz4-dev libzstd-dev \
	libmd-dev sqlite3
# For tests that are skipped without: of the page, of SARIF against its schema, of GitHub's Markdown.
WANTED := chromium chromium-driver python3-jsonschema curl cmark-gfm
rest := $(filter-out deps,$(MAKECMDGOALS))
.PHONY: deps
ifneq ($(filter deps,$(MAKECMDGOALS)),)
deps:
	@./.ci/deps $(PACKAGES) --wanted $(WANTED)
	$(if $(rest),+@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) $(rest))
ifneq ($(rest),)
.PHONY: $(rest)
$(rest): deps
	@:
endif
else
deps:
	@./.ci/deps $(PACKAGES) --wanted $(WANTED)

# --- what this machine has ------------------------------------------------------------------
CUDA_HOME ?= $(firstword $(wildcard /usr/local/cuda) $(patsubst %/bin/nvcc,%,$(shell command -v nvcc)))
CUDA_INC := $(firstword $(wildcard $(CUDA_HOME)/include/cuda.h $(CUDA_HOME)/targets/x86_64-linux/include/cuda.h))
NVCC ?= $(wildcard $(CUDA_HOME)/bin/nvcc)
cuda := $(if $(CUDA_INC),$(if $(NVCC),yes))
CUDA_LIB := $(firstword $(wildcard $(CUDA_HOME)/lib64 $(CUDA_HOME)/lib))
ifdef CROSS
CUDA_LIB := $O/sim
LDFLAGS += $(foreach folder,usr/lib lib,-L$O/root/$(folder)/$(MACHINE)-linux-gnu -Wl,-rpath-link,$O/root/$(folder)/$(MACHINE)-linux-gnu)
endif

# --- flags ----------------------------------------------------------------------------------
# Our flags are separate from the user's: CFLAGS comes last.
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wvla -Wno-unused-parameter
OURS := -std=gnu11 -D_GNU_SOURCE -DCUFENCE_VERSION='"$(VERSION)"' -fPIC -MMD -MP $(WARN)
ifeq ($(DEBUG),1)
OURS += -O0 -g3
endif
ifdef SAN
SANFLAGS := -fsanitize=$(SAN) -fno-omit-frame-pointer
# What reads files is fuzzed as it was compiled for the tests.
EDGES = $(if $(filter trace fatbin ptx sass analyzer,$(call area,$<)),-fsanitize-coverage=trace-pc -include tests/fuzz/edge.h)
endif
ifeq ($(COVERAGE),1)
SANFLAGS += --coverage
endif

# The dependency rule of doc/INTERNALS.md: a folder sees the headers of those it may use.
SEES_trace :=
SEES_machine :=
SEES_preload := trace machine preload/sites preload/guard preload/delay preload/usage preload/control preload/nccl
SEES_preload/guard := trace machine preload preload/delay
SEES_preload/delay := trace machine preload
SEES_preload/sites := trace machine preload preload/guard preload/delay
SEES_preload/usage := trace machine preload
SEES_preload/control := trace machine preload
SEES_preload/nccl := trace machine preload
SEES_cupti := trace machine preload preload/sites preload/guard preload/control
SEES_guard := trace machine preload/guard
SEES_delay := trace machine preload preload/delay
SEES_fix := trace machine preload preload/delay
SEES_fix/alone := trace machine preload preload/delay preload/sites preload/nccl fix
SEES_injection := machine
SEES_fatbin :=
SEES_ptx := fatbin
SEES_sass := fatbin ptx
READERS := fatbin ptx sass
# The simulated device: a folder for each of its libraries; that of libcuda has four.
SIM_CUDA := $(addprefix sim/cuda/,device memory graph code)
$(foreach room,$(SIM_CUDA),$(eval SEES_$(room) := trace machine fatbin ptx sim sim/cuda))
SEES_sim/cudart := trace machine sim
SEES_sim/cupti := trace machine sim
SEES_probe := kernels
# The rooms of the analyzer, lower ones first.  Each names those whose headers it may use.
ROOMS := containers terminal store model symbols names load load/graphs calls_in_order order kernel_access access hazard evidence waits needs account replay \
	rules passes report ranks stats html check export confirm watch control cli rerun sessions
rooms = $(addprefix analyzer/,$1)
SEES_analyzer/containers := trace
SEES_analyzer/terminal := trace
SEES_analyzer/store := trace $(call rooms,containers terminal)
SEES_analyzer/model := trace $(call rooms,containers store)
SEES_analyzer/symbols := trace $(call rooms,containers store)
SEES_analyzer/names := trace $(call rooms,containers terminal store model)
SEES_analyzer/load := trace $(call rooms,containers terminal store model symbols)
SEES_analyzer/load/graphs := trace $(call rooms,containers terminal store model load)
SEES_analyzer/calls_in_order := trace $(call rooms,containers store model symbols)
SEES_analyzer/order := trace $(call rooms,containers store model calls_in_order)
SEES_analyzer/kernel_access := trace $(READERS) $(call rooms,containers store model)
SEES_analyzer/access := trace $(READERS) $(call rooms,containers store model)
SEES_analyzer/hazard := trace $(READERS) $(call rooms,containers store model calls_in_order order access)
SEES_analyzer/evidence := trace $(call rooms,containers store model calls_in_order order access)
SEES_analyzer/waits := trace $(READERS) $(call rooms,containers store model names calls_in_order order access evidence)
SEES_analyzer/account := trace $(call rooms,containers store model evidence)
SEES_analyzer/replay := trace $(call rooms,containers store model calls_in_order order access evidence)
SEES_analyzer/needs := trace $(READERS) $(call rooms,containers store model calls_in_order order access)
SEES_analyzer/rules := trace $(READERS) $(call rooms,containers terminal store model names calls_in_order order access waits needs replay)
SEES_analyzer/passes := trace $(READERS) $(call rooms,containers store model names calls_in_order order access evidence waits needs replay rules)
# The stages of the analysis, above the rooms that they pass through.
SEES_analyzer := trace $(READERS) $(call rooms,containers terminal store model symbols names load calls_in_order order kernel_access \
	access hazard evidence waits needs account replay rules watch)
SEES_analyzer/report := trace $(READERS) $(call rooms,containers terminal store model names access rules)
SEES_analyzer/ranks := trace $(call rooms,containers terminal store model replay rules report)
SEES_analyzer/stats := trace $(call rooms,containers terminal store names)
SEES_analyzer/html := trace $(call rooms,containers terminal store names rules report)
SEES_analyzer/check := trace $(call rooms,containers terminal store model symbols names calls_in_order order rules report)
SEES_analyzer/export := trace analyzer $(call rooms,containers terminal store names rules report html check)
SEES_analyzer/confirm := trace $(call rooms,containers terminal store model names)
SEES_analyzer/watch := trace $(call rooms,containers terminal store)
SEES_analyzer/control := trace $(call rooms,containers)
SEES_analyzer/cli := trace analyzer $(READERS) $(call rooms,containers terminal store model symbols names calls_in_order order kernel_access rules \
	report ranks stats check export watch control)
SEES_analyzer/sessions := trace analyzer $(READERS) $(call rooms,containers terminal store model names kernel_access rules report stats check export control cli)
SEES_analyzer/rerun := trace analyzer $(READERS) $(call rooms,containers terminal store model names calls_in_order order access hazard rules report export confirm watch control cli)
SEES_tests := tests/unit trace machine fix preload/delay $(READERS) preload preload/sites cupti analyzer $(addprefix analyzer/,$(ROOMS))
SEES_bench := trace cupti analyzer $(addprefix analyzer/,$(ROOMS))
# For a source file: its folder, and the folders that this one sees.
room = $(patsubst %/,%,$(dir $1))
area = $(firstword $(subst /, ,$1))
includes = $(addprefix -I,$(call room,$1) $(SEES_$(or $(if $(SEES_$(call room,$1)),$(call room,$1)),$(call area,$1))))
CUDA_CPP := $(if $(CUDA_INC),-isystem $(dir $(CUDA_INC)))
CPP_preload := -D__CUDA_API_VERSION_INTERNAL $(CUDA_CPP)
CPP_cupti := $(CUDA_CPP)
CPP_guard := $(CPP_preload)
CPP_delay := $(CPP_preload)
CPP_fix := $(CPP_preload)
CPP_sim := $(CUDA_CPP)
CPP_tests := $(CUDA_CPP)
CPP_bench := $(CUDA_CPP)
CPP_probe := $(CUDA_CPP)
# Exported functions are marked one by one; thread-local state of the shim is in the static block.
EXTRA_trace := -fvisibility=hidden
EXTRA_preload := -fvisibility=hidden -ftls-model=initial-exec -include preload/glibc.h
EXTRA_cupti := $(EXTRA_preload)
# The program's host functions may throw.
$O/obj/preload/host_functions.o: EXTRA_preload += -fexceptions
EXTRA_injection := $(EXTRA_preload)
EXTRA_guard := $(EXTRA_preload)
EXTRA_delay := $(EXTRA_preload)
EXTRA_fix := $(EXTRA_preload)

# Frames of the simulated cudart in an archive are recognized by the API function above them.
EXTRA_sim := -fno-optimize-sibling-calls -include sim/glibc.h

objects = $(patsubst %,$O/obj/%.o,$(basename $(wildcard $(addsuffix /*.c,$1) $(addsuffix /*.S,$1))))

# Unit tests run once and call what is optimized: optimizing them takes five times as long as the rest.
# test_symbols reads its own optimized code.
cflags = $(if $(filter-out %/test_symbols.c,$(filter tests/unit/%,$<)),$(CFLAGS:-O%=-O0),$(CFLAGS))
$O/obj/%.o: %.c Makefile
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$Q$(CC) $(OURS) $(call includes,$<) $(CPP_$(call area,$<)) $(EXTRA_$(call area,$<)) \
		$(cflags) $(SANFLAGS) $(EDGES) -c $< -o $@
$O/obj/%.o: %.S Makefile
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$Q$(CC) -c $< -o $@

# --- what is built --------------------------------------------------------------------------
.DEFAULT_GOAL := all
.PHONY: all features rooms cufence shim simulator apps tutorial probe demo check bench \
	lint fmt install uninstall clean help
all: cufence $(if $(cuda),shim simulator apps probe tests bench) features

# The reading half of trace/ and the tables; the writer is the recorder's.
TRACE_OBJ := $(call objects,trace)
FATBIN_OBJ := $(call objects,fatbin ptx)
FATBIN_LIBS := -lelf -llz4 -lzstd
# The libraries that the program is linked with.
PROGRAM_LIBS = $(DW_LIBS) $(FATBIN_LIBS) $(MD_LIBS) -lsqlite3 -lz -lm -lpthread
SASS_OBJ := $(call objects,sass)
# SHA-256; few machines have it as a shared library.
MD_LIBS ?= -l:libmd.a
# For machines without libdw: DW_LIBS="-l:libdw.a -l:libelf.a -lz -llzma -lbz2".
DW_LIBS ?= -ldw

# The program.  Its schema and the probe's stored result are compiled in.
ANALYZER_OBJ := $(call objects,analyzer $(addprefix analyzer/,$(ROOMS)))
cufence: $O/bin/cufence
$O/bin/cufence: $(ANALYZER_OBJ) $(SASS_OBJ) $(FATBIN_OBJ) $(TRACE_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) $^ -o $@ $(PROGRAM_LIBS)
as_string = sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/'
$O/gen/%.inc: analyzer/store/%.sql
	@mkdir -p $(@D)
	$Q$(as_string) $< > $@
$O/gen/%.inc: probe/%.json
	@mkdir -p $(@D)
	$Q$(as_string) $< > $@
$O/gen/%.inc: doc/%.md
	@mkdir -p $(@D)
	$Q$(as_string) $< > $@
# The code of fixes is written once, in the page about rules.
$O/gen/fixes.def: analyzer/rules/fixes.awk doc/RULES.md
	@mkdir -p $(@D)
	$Qawk -f $^ > $@
$O/obj/analyzer/rules/rules.o: $O/gen/fixes.def
$O/obj/analyzer/store/db.o: $O/gen/nsys.inc
$O/obj/analyzer/cli/help_rule.o: $O/gen/RULES.inc
$O/obj/analyzer/report/probe_result.o: $O/gen/h200-580.159.inc
$O/obj/analyzer/html/html.o: $(foreach part,html css js js_hash css_hash,$O/gen/page_$(part).inc)
CPP_analyzer := -I$O/gen $(if $(HOMEPAGE),-DCUFENCE_HOMEPAGE='"$(HOMEPAGE)"')
# The page of a run in a browser.  Its script is several files within one function; its
# policy names the hashes of what may run.
PAGE := analyzer/html/page
PAGE_JS := $(addprefix $(PAGE)/,data.js draw.js timeline.js report.js main.js)
$O/gen/page.js: $(PAGE_JS)
	@mkdir -p $(@D)
	$Q{ echo '(function () {'; echo '"use strict";'; cat $^; echo '})();'; } > $@
$O/gen/page.css $O/gen/page.html: $O/gen/page.%: $(PAGE)/page.%
	@mkdir -p $(@D)
	$Qcp $< $@
$O/gen/page_%.inc: $O/gen/page.%
	$Q$(as_string) $< > $@
$O/gen/page_%_hash.inc: $O/gen/page.%
	$Qprintf "$$(sha256sum < $< | cut -c 1-64 | sed 's/../\\x&/g')" | base64 | $(as_string) > $@

# The recorder.  libc only; CUPTI and libcuda are reached at run time.
SHIM_OBJ := $(patsubst %,$O/obj/trace/%.o,calls script writer) $(call objects,machine preload preload/sites preload/guard preload/delay preload/usage preload/control preload/nccl) $(call objects,cupti)
shim: $O/lib/libcufence.so
$O/lib/libcufence.so: $(SHIM_OBJ) preload/exports.map machine/$(MACHINE).map
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -shared -Wl,-soname,libcufence.so -Wl,-Bsymbolic \
		-Wl,--version-script=machine/$(MACHINE).map -Wl,--version-script=preload/exports.map -Wl,-z,now $(SHIM_OBJ) -o $@ \
		-Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0

# What CUDA loads as a tool; the guard of host memory, what holds streams back and what tries fixes,
# loaded with the recorder where they are asked for; what applies fixes without it.
SHIM_LIBS := $(foreach part,-injection -guard -hold -try -fix,$O/lib/libcufence$(part).so)
shim: $(SHIM_LIBS)
$O/lib/libcufence-injection.so: $(call objects,injection) injection/exports.map
$O/lib/libcufence-guard.so: $(call objects,guard) guard/exports.map
$O/lib/libcufence-hold.so: $(call objects,delay) delay/exports.map
$O/lib/libcufence-try.so: $(call objects,fix) fix/exports.map
# Without the recorder it reaches the calls by itself, in the same way.
ALONE_OBJ := $(call objects,fix fix/alone) $O/obj/machine/$(MACHINE)_dlsym.o \
	$(patsubst %,$O/obj/preload/%.o,resolve module sites/unwind sites/frame_rules) $(patsubst %,$O/obj/trace/%.o,calls fix_file)
$O/lib/libcufence-fix.so: $(ALONE_OBJ) fix/alone/exports.map machine/$(MACHINE).map
$O/lib/libcufence-%.so:
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-Bsymbolic \
		$(addprefix -Wl$(comma)--version-script=,$(filter %.map,$^)) -Wl,-z,now $(filter %.o,$^) -o $@ \
		-Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0

# The libraries with the functions of an older glibc (sim/glibc.h).
OLD_LIBS := -Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0
# The simulated device, each library with its export map.
SIM_LIBS := $O/sim/libcuda.so.1 $O/sim/libcudart.so.13 $O/sim/libcupti.so.13
simulator: $(SIM_LIBS) $O/sim/libcudart_sim.a
$O/sim/libcuda.so.1: $(call objects,$(SIM_CUDA)) $(TRACE_OBJ) $(FATBIN_OBJ)
$O/sim/libcudart.so.13: $(call objects,sim/cudart)
$O/sim/libcupti.so.13: $(call objects,sim/cupti)
$O/sim/lib%: $(wildcard sim/*/*.map)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-Bsymbolic \
		-Wl,--version-script=$(wildcard sim/*/$(firstword $(subst ., ,$(@F))).map) $(filter %.o,$^) -o $@ \
		$(if $(findstring libcuda.so,$@),$(FATBIN_LIBS)) $(OLD_LIBS)
$O/sim/libcudart_sim.a: $(call objects,sim/cudart)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$Qrm -f $@ && $(AR) rcs $@ $^

# Device code and the test apps.  sm_75 and its PTX run anywhere; sm_90 spares the H200 the JIT.
GENCODE ?= -gencode arch=compute_75,code=[sm_75,compute_75] -gencode arch=compute_90,code=sm_90
NVCCFLAGS = -std=c++14 -O2 -g $(GENCODE) -ccbin $(CXX) -Ikernels -Itestapps \
	$(if $(CROSS),$(CUDA_CPP) -isystem $(dir $(CUDA_INC))cccl)
# Sources with no kernels of their own, which are most, need no nvcc, which takes eight times as
# long: launches are made calls as it does that, and CUDA's headers are compiled once.
HOST_ONLY := $(shell grep -LE '__(global|device|constant|managed)__' \
	testapps/*.cu bench/savings/*.cu bench/*.cu doc/tutorial/*.cu tests/helpers/*.cu 2>/dev/null)
HOST := $(CUDA_O)/obj/host
HOST_CXX := $(CXX) -std=c++17 -O2 -g -I$(HOST) $(CUDA_CPP) -isystem $(dir $(CUDA_INC))cccl
as_calls = sed -E -e '1i \# 1 "$1"' -f kernels/launches.sed $1
$(HOST)/host.h.gch: kernels/host.h $(wildcard kernels/*.h testapps/*.h) kernels/launches.sed Makefile
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$Q$(foreach header,$(filter %.h,$^),$(call as_calls,$(header)) > $(@D)/$(notdir $(header)) &&) \
		$(HOST_CXX) -x c++-header $(@D)/$(<F) -o $@
# compile_cu OPTIONS
host_only = $(if $(findstring per-thread,$1),,$(filter $<,$(HOST_ONLY)))
define compile_cu
	$(call say,$(if $(host_only),CXX,NVCC),$< $1)
	@mkdir -p $(@D)
	$Q$(if $(host_only),$(call as_calls,$<) | $(HOST_CXX) -include $(HOST)/host.h $1 -x c++ -c - -o $@,$(NVCC) $(NVCCFLAGS) $1 -c $< -o $@)
endef
KERNEL_OBJ := $(patsubst %.cu,$(CUDA_O)/obj/%.o,$(wildcard kernels/*.cu))
APPS := $(basename $(notdir $(wildcard testapps/*.cu)))
TWINS := $(basename $(notdir $(shell grep -l '\bFIXED\b' testapps/*.cu 2>/dev/null)))
PTDS := $(basename $(notdir $(shell grep -l 'per-thread variant' testapps/*.cu 2>/dev/null)))
PROGRAMS := $(APPS) $(addsuffix _fixed,$(TWINS)) $(addsuffix _ptds,$(PTDS))
# Those that tests/cli/endless.sh repeats until they are ended.
AGAIN := $(shell grep '^[a-z]' tests/cli/endless.apps)
# Programs with NVIDIA's static runtime are for a GPU: a test needs one of them.
STATIC := $(if $(filter pack,$(MAKECMDGOALS)),$(PROGRAMS),$(if $(SAN),,free_in_loop))
# Programs with the simulator's: those that tests/cli/apps.sh runs, and what run.sh and symbols.sh need.
SIMSTATIC := $(sort double_buffer free_in_loop $(if $(SAN),,$(filter $(foreach app, \
	$(shell . tests/cli/expect.sh; chosen_apps),$(app) $(app)_fixed),$(PROGRAMS))))
apps: $(PROGRAMS:%=$O/testapps/%) $(SIMSTATIC:%=$O/testapps/%_simstatic) $(STATIC:%=$O/testapps/%_static) \
	$(foreach p,$(AGAIN),$O/testapps/$(p)_again) $O/testapps/libmpi.so $O/testapps/libnccl.so.2

$(CUDA_O)/obj/kernels/%.o: kernels/%.cu $(HOST)/host.h.gch
	$(call compile_cu,)
$(CUDA_O)/obj/probe/%.o: probe/%.cu $(wildcard probe/*.h) $(HOST)/host.h.gch
	$(call compile_cu,)
$(CUDA_O)/obj/testapps/%.o: testapps/%.cu $(HOST)/host.h.gch
	$(call compile_cu,)
$(CUDA_O)/obj/testapps/%_fixed.o: testapps/%.cu $(HOST)/host.h.gch
	$(call compile_cu,-DFIXED)
$(CUDA_O)/obj/testapps/%_ptds.o: testapps/%.cu $(HOST)/host.h.gch
	$(call compile_cu,--default-stream per-thread)

# Hundreds of programs are linked, for which this linker takes a third of the other one's time.
QUICK_LD := $(if $(shell command -v $(CROSS)ld.gold),-fuse-ld=gold)
# With sanitizers the apps carry their runtime for the instrumented libraries they meet.
LINK_APP = @mkdir -p $(@D); $(CXX) $(QUICK_LD) $(SANFLAGS) $(filter %.o %.a,$^) -o $@
$O/testapps/%_simstatic: $(CUDA_O)/obj/testapps/%.o $(KERNEL_OBJ) $O/sim/libcudart_sim.a
	$(call say,LD,$@)
	$Q$(LINK_APP) -ldl -lpthread
$(CUDA_O)/obj/testapps/%_renamed.o: $(CUDA_O)/obj/testapps/%.o
	$Qobjcopy --redefine-sym main=app_main $< $@
$(CUDA_O)/obj/testapps/again.o: testapps/again.c Makefile
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$Q$(CC) -O2 -g -Wall -Wextra -c $< -o $@
# What device_aware_send loads.
$O/testapps/libmpi.so: testapps/libmpi.c Makefile
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) -O2 -g -Wall -Wextra -shared -fPIC $< -o $@
# What the apps of NCCL are linked with; on a GPU it has NVIDIA's static runtime, as NCCL itself.  Of
# rules that match a name make takes that with the shortest stem.
$(CUDA_O)/obj/testapps/nccl/libnccl.o: testapps/nccl/libnccl.cu testapps/nccl_calls.h
	$(call compile_cu,-Xcompiler -fPIC)
$O/testapps/libnccl.so.2: NCCL_LIBS := -L$(CUDA_LIB) -l:libcudart.so.13
$O/testapps/static/libnccl.so.2: NCCL_LIBS := -L$(CUDA_LIB) -lcudart_static -lrt -ldl -lpthread
$O/testapps/libnccl.so.2 $O/testapps/static/libnccl.so.2: $(CUDA_O)/obj/testapps/nccl/libnccl.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CXX) $(SANFLAGS) -shared -Wl,-soname,$(@F) $< -o $@ $(NCCL_LIBS)
# Ranks of programs, which tests/cli/late_ranks.sh and joint.sh start.
apps: $O/testapps/nccl_ranks $O/testapps/nccl_steps
$(CUDA_O)/obj/testapps/nccl_ranks.o $(CUDA_O)/obj/testapps/nccl_steps.o: $(CUDA_O)/obj/testapps/nccl_%.o: testapps/nccl/%.cu $(HOST)/host.h.gch
	$(call compile_cu,)
LINK_NCCL = $(LINK_APP) -L$(dir $(filter %.so.2,$^)) -l:libnccl.so.2 -Wl,-rpath,'$$ORIGIN$(NCCL_PATH)'
$O/testapps/nccl_%: $(CUDA_O)/obj/testapps/nccl_%.o $(KERNEL_OBJ) $O/testapps/libnccl.so.2
	$(call say,LD,$@)
	$Q$(LINK_NCCL) -L$(CUDA_LIB) -l:libcudart.so.13 -lpthread
$O/testapps/nccl_%_simstatic: $(CUDA_O)/obj/testapps/nccl_%.o $(KERNEL_OBJ) $O/sim/libcudart_sim.a $O/testapps/libnccl.so.2
	$(call say,LD,$@)
	$Q$(LINK_NCCL) -ldl -lpthread
$O/testapps/nccl_%_static: NCCL_PATH := /static
$O/testapps/nccl_%_static: $(CUDA_O)/obj/testapps/nccl_%.o $(KERNEL_OBJ) $O/testapps/static/libnccl.so.2
	$(call say,LD,$@)
	$Q$(LINK_NCCL) -L$(CUDA_LIB) -lcudart_static -lrt -ldl -lpthread
$O/testapps/%_again: $(CUDA_O)/obj/testapps/%_renamed.o $(CUDA_O)/obj/testapps/again.o $(KERNEL_OBJ)
	$(call say,LD,$@)
	$Q$(LINK_APP) -L$(CUDA_LIB) -l:libcudart.so.13 -lpthread
$O/testapps/%_static: $(CUDA_O)/obj/testapps/%.o $(KERNEL_OBJ)
	$(call say,LD,$@)
	$Q$(LINK_APP) -L$(CUDA_LIB) -lcudart_static -lrt -ldl -lpthread
$O/testapps/%: $(CUDA_O)/obj/testapps/%.o $(KERNEL_OBJ)
	$(call say,LD,$@)
	$Q$(LINK_APP) -L$(CUDA_LIB) -l:libcudart.so.13 -lpthread
# "make demo" compiles no kernels but those of its program.
DEMO := free_in_loop
$O/testapps/$(DEMO): $(addprefix $(CUDA_O)/obj/,testapps/$(DEMO).o kernels/stencil.o kernels/accumulate.o)
	$(call say,LD,$@)
	$Q$(LINK_APP) -L$(CUDA_LIB) -l:libcudart.so.13 -lpthread
# The forms of the tutorial's programs.
TUTORIAL := $(addprefix $O/tutorial/,photos1 photos2 photos3 photos4 photos5 batches1 batches2)
tutorial: $(if $(cuda),cufence shim simulator $(TUTORIAL))
tests: $(if $(cuda),$(TUTORIAL))
$(CUDA_O)/obj/doc/tutorial/photos%.o: doc/tutorial/photos.cu $(HOST)/host.h.gch
	$(call compile_cu,-DSTEP=$*)
$(CUDA_O)/obj/doc/tutorial/batches%.o: doc/tutorial/batches.cu $(HOST)/host.h.gch
	$(call compile_cu,-DSTEP=$*)
$O/tutorial/%: $(CUDA_O)/obj/doc/tutorial/%.o $(KERNEL_OBJ)
	$(call say,LD,$@)
	$Q$(LINK_APP) -L$(CUDA_LIB) -l:libcudart.so.13 -lpthread
.SECONDARY:

# The probe: with NVIDIA's cudart for devices, with a shared one for the simulated device.
PROBE_OBJ := $(patsubst %.c,$O/obj/%.o,$(wildcard probe/*.c)) \
	$(patsubst %.cu,$(CUDA_O)/obj/%.o,$(wildcard probe/*.cu) kernels/spin.cu)
probe: $O/sim/cufence-probe $(if $(SAN),,$O/bin/cufence-probe)
$O/bin/cufence-probe: $(PROBE_OBJ)
	$(call say,LD,$@)
	$Q$(LINK_APP) -static-libstdc++ -static-libgcc -L$(CUDA_LIB) -lcudart_static -lrt -ldl \
		-lpthread -lm
$O/sim/cufence-probe: $(PROBE_OBJ)
	$(call say,LD,$@)
	$Q$(LINK_APP) -L$(CUDA_LIB) -l:libcudart.so.13 -ldl -lpthread -lm

# Tests: one binary per tests/unit/*/*.c.
# The tests of CUDA's side need its headers.
CUDA_UNITS := $(addprefix tests/unit/,load/test_arguments.c load/test_decode.c report/test_freed.c waits/test_repeated.c) \
	$(wildcard tests/unit/sim/*.c)
UNIT_SOURCES := $(filter-out $(if $(cuda),,$(CUDA_UNITS)),$(wildcard tests/unit/*/*.c))
unit = $O/tests/$(basename $(notdir $1))
# libdw.a, which a pack contains, cannot be a part of libprogram.so; no unit test needs a GPU.
UNITS := $(if $(filter pack,$(MAKECMDGOALS)),,$(foreach source,$(UNIT_SOURCES),$(call unit,$(source))))
PROGRAM_OBJ := $(filter-out $O/obj/analyzer/cli/main.o,$(ANALYZER_OBJ))
.PHONY: tests
tests: $(UNITS)
# The program is linked once, as a library: a hundred copies of it took time and 600 MB.  trace/
# hides its symbols from a library's users, so that each test has its own.
$O/tests/libprogram.so: $(PROGRAM_OBJ) $(SASS_OBJ) $(FATBIN_OBJ) $(TRACE_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -shared $^ -o $@ $(PROGRAM_LIBS)
$(foreach source,$(UNIT_SOURCES),$(eval $(call unit,$(source)): $O/obj/$(source:.c=.o)))
$(UNITS): $O/tests/libprogram.so $(TRACE_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(QUICK_LD) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) $(filter %.o,$^) -o $@ -L$O/tests -lprogram \
		-Wl,-rpath,'$$ORIGIN' -lcmocka $(PROGRAM_LIBS) -ldl -lpthread

# Commands that read one database, without a process and a check for each.
AT_ONCE := $(if $(filter pack,$(MAKECMDGOALS)),,$O/tests/helpers/at_once)
tests: $(AT_ONCE)
$O/tests/helpers/at_once: $O/obj/tests/helpers/at_once.o $O/tests/libprogram.so
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) $< -o $@ -L$O/tests -lprogram \
		-Wl,-rpath,'$$ORIGIN/..' $(PROGRAM_LIBS) -ldl

# Whether a run kept to the order that is guaranteed: of any database.
tests: $O/tests/golden/consistent
$O/tests/golden/consistent: $O/obj/tests/golden/consistent.o $(PROGRAM_OBJ) $(SASS_OBJ) $(FATBIN_OBJ) $(TRACE_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) $^ -o $@ $(PROGRAM_LIBS) -ldl -lpthread

# Kernels that a test reads as PTX and as machine code, for these architectures.
FATBIN_copies := arch=compute_90a,code=[sm_90a,compute_90a] arch=compute_100,code=sm_100
FATBIN_spins := arch=compute_75,code=[sm_75,compute_75] $(foreach sm,80 90 100,arch=compute_$(sm),code=sm_$(sm))
FATBIN_predicates := $(filter-out %80,$(FATBIN_spins))
FATBINS := $(foreach name,copies spins predicates,$O/tests/$(name).fatbin)
tests: $(if $(cuda),$(FATBINS))
$(CUDA_O)/obj/tests/%.fatbin: tests/data/%.cu
	$(call say,NVCC,$<)
	@mkdir -p $(@D)
	$Q$(NVCC) -O2 -std=c++17 -ccbin $(CXX) $(FATBIN_$*:%=-gencode '%') -fatbin $< -o $@
$(FATBINS): $O/tests/%.fatbin: $(CUDA_O)/obj/tests/%.fatbin
	@mkdir -p $(@D)
	$Qcp $< $@

# All machine code of the toolkit's libraries decodes.
tests: $O/tests/libraries/decode
$O/tests/libraries/decode: $(call objects,tests/libraries) $(SASS_OBJ) $(FATBIN_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) $^ -o $@ $(FATBIN_LIBS)
.PHONY: check-libraries
check-libraries: $O/tests/libraries/decode
	$Q$O/tests/libraries/decode $(LIBRARIES)

# Compares kernels' accesses by PTX with those by machine code, for all .cu files of a folder.
tests: $O/tests/kernels/compare
$O/tests/kernels/compare: $(call objects,tests/kernels) $(SASS_OBJ) $(FATBIN_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) $^ -o $@ $(FATBIN_LIBS)
.PHONY: check-kernels
check-kernels: $O/tests/kernels/compare
	$QNVCC='$(NVCC)' tests/kernels/run $(abspath $<) $(abspath $(KERNELS))
KERNELS ?= testapps

LIBRARIES ?= $(shell find -L $(CUDA_HOME)/lib64/ -name '*.a' -o -name '*.so' | xargs -r readlink -f | sort -u)

ifneq ($(cuda),)
$O/tests/test_decode: $O/obj/cupti/decode.o
$O/tests/test_arguments: $O/obj/preload/arguments.o
$O/tests/test_frame_rules: $O/obj/preload/sites/frame_rules.o
endif

# Small programs and libraries that the test scripts run the recorder with.
CUDA_HELPERS := tests/helpers/windows.c tests/helpers/attach.c tests/helpers/server.c tests/helpers/hangs.c tests/helpers/ranges.c tests/helpers/stream_names.c tests/helpers/asan_ranges.c tests/helpers/nulls.c tests/helpers/structures.c
HELPERS := $(patsubst tests/helpers/%.c,$O/tests/helpers/%,$(filter-out tests/helpers/at_once.c tests/helpers/lib% $(if $(cuda),,$(CUDA_HELPERS)),$(wildcard tests/helpers/*.c))) \
	$O/tests/helpers/liblink_a.so $O/tests/helpers/liblink_b.so $O/tests/helpers/libfail.so \
	$O/tests/helpers/libcollective.so $O/tests/helpers/libthreads.so $O/tests/helpers/libhook.so $O/tests/helpers/libslow.so \
	$O/tests/helpers/nvml/libnvidia-ml.so.1 $O/tests/helpers/libsim_time.so \
	$(if $(cuda),$O/tests/helpers/libplug.so $O/tests/helpers/libturn.so $O/tests/helpers/libtorch_like.so) \
	$(if $(cuda),$O/tests/helpers/libcupti_bad.so $O/tests/helpers/libcupti_late.so $O/tests/helpers/libnullcuda.so $O/tests/helpers/unwinds/libgcc_s.so.1 $O/tests/helpers/every/libcuda.so.1)
CU_HELPERS := $(addprefix $O/tests/helpers/,separate separate_simstatic last_act host_functions dots nccl_calls nccl_within lucky fixes moved random_work)
tests: $(HELPERS) $(if $(cuda),$(CU_HELPERS))
# For what another compiler has to say: all C that is built, of the tests no programs.
.PHONY: compiled
compiled: cufence $(HELPERS) $(if $(cuda),shim simulator $O/gpu/driver_errors) $(patsubst %.c,$O/obj/%.o, \
	$(UNIT_SOURCES) $(wildcard tests/golden/*.c tests/libraries/*.c tests/kernels/*.c) \
	tests/helpers/at_once.c bench/make_trace.c)
$O/tests/helpers/ranges: HELPER_FLAGS := $(CUDA_CPP)
$O/tests/helpers/asan $O/tests/helpers/asan_lifecycle: HELPER_FLAGS := -fsanitize=address
$O/tests/helpers/kills $O/tests/helpers/readable: HELPER_FLAGS := -Itrace $(SANFLAGS)
$O/tests/helpers/kills $O/tests/helpers/readable: $(TRACE_OBJ)
$O/tests/helpers/failures: HELPER_FLAGS := -Itrace
$O/tests/helpers/python_like: HELPER_FLAGS := -rdynamic
$O/tests/helpers/libplug.so: HELPER_LIBS := -L$(CUDA_LIB) -l:libcudart.so.13
$O/tests/helpers/libcupti_late.so: $O/sim/libcupti.so.13
$O/tests/helpers/libcupti_late.so: HELPER_LIBS := -L$O/sim -Wl,--no-as-needed -l:libcupti.so.13 -Wl,-rpath,'$$ORIGIN/../../sim'
$O/tests/helpers/libtorch_like.so: $O/testapps/libnccl.so.2
$O/tests/helpers/libtorch_like.so: HELPER_LIBS := -L$(CUDA_LIB) -l:libcudart.so.13 -L$O/testapps -l:libnccl.so.2 -Wl,-rpath,'$$ORIGIN/../../testapps'
$(CUDA_HELPERS:tests/helpers/%.c=$O/tests/helpers/%): HELPER_FLAGS := -Itrace $(CUDA_CPP)
$(CUDA_HELPERS:tests/helpers/%.c=$O/tests/helpers/%): trace/calls.def
$O/tests/helpers/asan_ranges: HELPER_FLAGS := -fsanitize=address $(CUDA_CPP)
$O/tests/helpers/every/libcuda.so.1: tests/helpers/libevery.c trace/calls.def
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$Q$(CC) -std=gnu11 -O1 -fPIC -shared $(WARN) -Itrace $(CUDA_CPP) $< -o $@
$O/tests/helpers/unwinds/libgcc_s.so.1: tests/helpers/libunwinds.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$Q$(CC) -std=gnu11 -O2 -fPIC -shared $(WARN) $< -o $@ -ldl
$O/tests/helpers/cublas/libcublas.so.13: tests/helpers/libcublas_like.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$Q$(CC) -std=gnu11 -O1 -fPIC -shared $(WARN) $< -o $@ -L$(CUDA_LIB) -l:libcudart.so.13
$O/tests/helpers/nvml/libnvidia-ml.so.1: tests/helpers/libnvml.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$Q$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -fPIC -shared $(filter-out -Wmissing-prototypes,$(WARN)) $< -o $@
$O/tests/helpers/%: tests/helpers/%.c $(wildcard tests/helpers/*.h)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$Q$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g $(WARN) $(HELPER_FLAGS) $(filter %.c %.o,$^) -o $@ \
		-ldl -lpthread
$O/tests/helpers/lib%.so: tests/helpers/lib%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$Q$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -fPIC -shared $(WARN) $(CUDA_CPP) $< -o $@ $(HELPER_LIBS) -ldl
$O/tests/helpers/liblink_%.so: tests/helpers/liblink.c
	@mkdir -p $(@D)
	$Q$(CC) -std=gnu11 -O1 -fPIC -shared $(WARN) $< -o $@ -ldl

# Device code in several files.  nvcc does not link it together with the option -cudart none, so
# that is a step of its own.
SEPARATE_OBJ := $(addprefix $(CUDA_O)/obj/tests/separate,.o _part.o _linked.o)
$(CUDA_O)/obj/tests/separate.o $(CUDA_O)/obj/tests/separate_part.o: tests/helpers/separate.cu Makefile
	$(call say,NVCC,$<)
	@mkdir -p $(@D)
	$Q$(NVCC) $(NVCCFLAGS) $(if $(findstring part,$@),-DPART) -dc $< -o $@
$(CUDA_O)/obj/tests/separate_linked.o: $(filter-out %_linked.o,$(SEPARATE_OBJ))
	$Q$(NVCC) $(NVCCFLAGS) -dlink $^ -o $@
$O/tests/helpers/separate: $(SEPARATE_OBJ)
	$Q$(LINK_APP) -L$(CUDA_LIB) -l:libcudart.so.13 -lpthread
$O/tests/helpers/separate_simstatic: $(SEPARATE_OBJ) $O/sim/libcudart_sim.a
	$Q$(LINK_APP) -ldl -lpthread

$(addprefix $(CUDA_O)/obj/tests/,last_act.o host_functions.o dots.o nccl_calls.o lucky.o fixes.o moved.o random_work.o): $(CUDA_O)/obj/tests/%.o: tests/helpers/%.cu $(HOST)/host.h.gch
	$(call compile_cu,)
$O/tests/helpers/dots: $O/tests/helpers/cublas/libcublas.so.13
$O/tests/helpers/dots: LINK_LIBS := -L$O/tests/helpers/cublas -l:libcublas.so.13
$O/tests/helpers/lucky $O/tests/helpers/fixes $O/tests/helpers/moved $O/tests/helpers/random_work: $(KERNEL_OBJ)
$O/tests/helpers/nccl_within: $(CUDA_O)/obj/tests/nccl_calls.o $(CUDA_O)/obj/testapps/nccl/libnccl.o $(KERNEL_OBJ)
	$Q$(LINK_APP) -L$(CUDA_LIB) -l:libcudart.so.13 -ldl -lpthread
$O/tests/helpers/nccl_calls: $(KERNEL_OBJ) $O/testapps/libnccl.so.2
$O/tests/helpers/nccl_calls: LINK_LIBS := -L$O/testapps -l:libnccl.so.2 -Wl,-rpath,'$$ORIGIN/../../testapps' -ldl
$(addprefix $O/tests/helpers/,last_act host_functions dots nccl_calls lucky fixes moved random_work): $O/tests/helpers/%: $(CUDA_O)/obj/tests/%.o
	$Q$(LINK_APP) $(LINK_LIBS) -L$(CUDA_LIB) -l:libcudart.so.13 -lpthread

# Programs of other shapes, for tests/gpu/coverage on real hardware.
GPU_PROGRAMS := driver_api driver_errors nccl_own order_cases threads threads_ptds loader cublas \
	libplugin.so libplugin_static.so libtruth.so
.PHONY: gpu-programs
gpu-programs: $(addprefix $O/gpu/,$(GPU_PROGRAMS))
$O/gpu/%: tests/gpu/programs/%.c
	@mkdir -p $(@D)
	$Q$(CC) -O2 -g $(CUDA_CPP) $< -o $@ -L$(CUDA_LIB)/stubs $(if $(filter $O/gpu/driver_% $O/gpu/nccl_own,$@),-lcuda) -ldl
$O/gpu/libtruth.so: tests/gpu/programs/truth.c
	@mkdir -p $(@D)
	$Q$(CC) -O2 -g $(WARN) $(CUDA_CPP) -fPIC -shared $< -o $@ -L$(CUDA_LIB)/stubs -lcuda -ldl
$O/gpu/threads_ptds: tests/gpu/programs/threads.cu
	@mkdir -p $(@D)
	$Q$(NVCC) $(NVCCFLAGS) --default-stream per-thread --cudart shared $< -o $@ -lpthread
$O/gpu/order_cases $(CUDA_O)/obj/gpu/order_cases.o: tests/unit/order/order_cases.def
# The simulated device takes these.
ifneq ($(cuda),)
tests: $O/gpu/order_cases_shared $O/gpu/driver_errors
endif
$(CUDA_O)/obj/gpu/order_cases.o: tests/gpu/programs/order_cases.cu
	$(call compile_cu,)
$O/gpu/order_cases_shared: $(CUDA_O)/obj/gpu/order_cases.o
	$(call say,LD,$@)
	$Q$(LINK_APP) -L$(CUDA_LIB) -l:libcudart.so.13 -lpthread
$O/gpu/libplugin%so: tests/gpu/programs/plugin.cu
	@mkdir -p $(@D)
	$Q$(NVCC) $(NVCCFLAGS) -Xcompiler -fPIC -shared \
		--cudart $(if $(findstring static,$@),static,shared) $< -o $@
$O/gpu/%: tests/gpu/programs/%.cu
	@mkdir -p $(@D)
	$Q$(NVCC) $(NVCCFLAGS) --cudart static $< -o $@ -lpthread

check: all tests
	$Qtests/run $O
# Some of them, with what they need: make test T="test_waits golden.sh".  Apps are built by all.
.PHONY: test
test: $(addprefix $O/tests/,$(filter test_%,$T)) $(if $(filter %.sh,$T),cufence $(AT_ONCE) $(if $(cuda),shim simulator))
	$Qtests/run $O $T
# The same N times, concurrent with LOAD processes that compute.
N ?= 20
LOAD ?= 2
.PHONY: check-repeat
check-repeat: all tests
	$Qtests/repeat $O $N $(LOAD)
# Breaks each item of doc/KEPT.md on purpose: a test fails each time.
.PHONY: check-mutations
check-mutations: cufence shim tests
	$Qtests/mutate $O

# Fuzzing: everything that reads what may be hostile, built with sanitizers and coverage: that of a
# build with SAN=address,undefined, otherwise next to the rest.  driver.c needs no clang; "make fuzz-libfuzzer CC=clang" links libFuzzer instead.
FUZZ_SECONDS ?= 60
FUZZ_FLAGS := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_TARGETS := $(patsubst tests/fuzz/%.c,$O/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_OBJ := $(patsubst $O/obj/%,$O/$(if $(SAN),,fuzz/)obj/%,$(PROGRAM_OBJ) $(SASS_OBJ) $(FATBIN_OBJ) $(TRACE_OBJ)) \
	$O/fuzz/obj/tests/fuzz/input.o $O/fuzz/obj/tests/fuzz/trace_mutations.o
FUZZ_LIBS := $(PROGRAM_LIBS)
.PHONY: fuzz fuzz-programs fuzz-libfuzzer
fuzz: fuzz-programs
	$Qtests/fuzz/run $O $(FUZZ_SECONDS)
fuzz-programs: $(FUZZ_TARGETS) $O/fuzz/database
fuzz-libfuzzer: $(patsubst %,%_libfuzzer,$(FUZZ_TARGETS))
$O/fuzz/obj/tests/fuzz/driver.o $O/fuzz/obj/tests/fuzz/database.o: FUZZ_COVERAGE :=
$O/fuzz/obj/%.o: FUZZ_COVERAGE = $(if $(findstring clang,$(CC)),-fsanitize=fuzzer-no-link,-fsanitize-coverage=trace-pc)
$O/fuzz/obj/%.o: %.c Makefile
	$(call say,FUZZ,$<)
	@mkdir -p $(@D)
	$Q$(CC) $(OURS) $(call includes,$<) $(CPP_$(call area,$<)) $(CFLAGS) $(FUZZ_FLAGS) $(FUZZ_COVERAGE) -c $< -o $@
$O/fuzz/obj/analyzer/rules/rules.o: $O/gen/fixes.def
$O/fuzz/obj/analyzer/store/db.o: $O/gen/nsys.inc
$O/fuzz/obj/analyzer/cli/help_rule.o: $O/gen/RULES.inc
$O/fuzz/obj/analyzer/html/html.o: $(foreach part,html css js js_hash css_hash,$O/gen/page_$(part).inc)
$O/fuzz/obj/analyzer/report/probe_result.o: $O/gen/h200-580.159.inc
$O/fuzz/%_libfuzzer: $O/fuzz/obj/tests/fuzz/%.o $(FUZZ_OBJ)
	$(call say,LD,$@)
	$Q$(CC) $(FUZZ_FLAGS) -fsanitize=fuzzer $^ -o $@ $(FUZZ_LIBS)
# Its own driver: databases are damaged by SQL, and a command has a process to itself.
$O/fuzz/database: $O/fuzz/obj/tests/fuzz/database.o $O/fuzz/obj/tests/fuzz/database_damage.o $(FUZZ_OBJ)
	$(call say,LD,$@)
	$Q$(CC) $(FUZZ_FLAGS) $^ -o $@ $(FUZZ_LIBS)
$O/fuzz/%: $O/fuzz/obj/tests/fuzz/%.o $O/fuzz/obj/tests/fuzz/driver.o $(FUZZ_OBJ)
	$(call say,LD,$@)
	$Q$(CC) $(FUZZ_FLAGS) $^ -o $@ $(FUZZ_LIBS)
demo: cufence $(if $(cuda),shim simulator $O/testapps/$(DEMO))
	$Qtests/demo $O

# bench/*.cu with NVIDIA's cudart as archive and (_shared) as library, which runs on the simulator.
bench: $(foreach p,$(basename $(notdir $(wildcard bench/*.cu))),$O/bench/$p $O/bench/$(p)_shared) \
	$(patsubst bench/%.c,$O/bench/%.so,$(wildcard bench/lib*.c)) $O/bench/micro_calls
# A driver and a runtime whose calls return at once, for bench/micro.
$O/bench/stub/libcuda.so.1: bench/stub_cuda.c Makefile
$O/bench/stub/libcudart.so.13: bench/stub_cuda.c Makefile
$O/bench/stub/%:
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(filter-out -MMD -MP,$(OURS)) $(CPP_bench) -O2 $(if $(findstring cudart,$@),-DCUDART) \
		-shared -Wl,-soname,$(@F) $< -o $@ -ldl
$O/bench/micro_calls: $O/obj/bench/micro_calls.o $O/bench/stub/libcudart.so.13 $O/bench/stub/libcuda.so.1
	$(call say,LD,$@)
	$Q$(CC) $(SANFLAGS) $< -o $@ -L$O/bench/stub -l:libcudart.so.13 -ldl
# The time that a fix saves, and its prediction: for test apps, and for programs of their own.
SAVED := $(basename $(notdir $(wildcard bench/savings/*.cu)))
bench: $(if $(SAN),,$(foreach p,$(SAVED),$O/bench/savings/$p $O/bench/savings/$(p)_fixed))
$O/obj/bench/savings/%_fixed.o: bench/savings/%.cu $(HOST)/host.h.gch
	$(call compile_cu,-DFIXED)
$O/bench/savings/%: $O/obj/bench/savings/%.o $(KERNEL_OBJ)
	$(call say,LD,$@)
	$Q$(LINK_APP) -L$(CUDA_LIB) -l:libcudart.so.13 -lpthread
# Loading, on synthetic traces.
.PHONY: bench-load
bench-load: $O/bench/make_trace $O/bench/load_traces
	$Qbench/load $O
# The page of ten thousand operations is a test too.
tests: $O/bench/make_trace
$O/bench/make_trace: $O/obj/bench/make_trace.o $(TRACE_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(SANFLAGS) $^ -o $@
# Long runs, also in a test.
tests: $O/bench/make_turns
$O/bench/make_turns: $(patsubst %,$O/obj/bench/%.o,make_turns maker) $(TRACE_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(SANFLAGS) $^ -o $@
$O/bench/load_traces: $O/obj/bench/load_traces.o $(PROGRAM_OBJ) $(SASS_OBJ) $(FATBIN_OBJ) $(TRACE_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(SANFLAGS) $^ -o $@ $(PROGRAM_LIBS)
# All of the analysis, on synthetic traces; LARGE=1: of 10 million calls.
.PHONY: bench-analyze
bench-analyze: $O/bench/analyze
	$Q$O/bench/analyze $(if $(LARGE),--large)
$O/bench/analyze: $(patsubst %,$O/obj/bench/%.o,analyze analyze_cases maker) $(PROGRAM_OBJ) $(SASS_OBJ) $(FATBIN_OBJ) $(TRACE_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(SANFLAGS) $^ -o $@ $(PROGRAM_LIBS) -lpthread
# Putting calls in order, without a database.
.PHONY: bench-order
bench-load: bench-order
bench-order: $O/bench/order
	$Q$O/bench/order
$O/bench/order: $O/obj/bench/order.o $(PROGRAM_OBJ) $(SASS_OBJ) $(FATBIN_OBJ) $(TRACE_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(SANFLAGS) $^ -o $@ $(PROGRAM_LIBS)
$O/bench/%.so: $O/obj/bench/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(SANFLAGS) -shared $< -o $@ -ldl
$(CUDA_O)/obj/bench/%.o: bench/%.cu $(HOST)/host.h.gch
	$(call compile_cu,)
$O/bench/%_shared: $(CUDA_O)/obj/bench/%.o $(KERNEL_OBJ)
	$(call say,LD,$@)
	$Q$(LINK_APP) -L$(CUDA_LIB) -l:libcudart.so.13 -lpthread
$O/bench/%: $(CUDA_O)/obj/bench/%.o $(KERNEL_OBJ)
	$(call say,LD,$@)
	$Q$(LINK_APP) -L$(CUDA_LIB) -lcudart_static -lrt -ldl -lpthread

# Packs the files that tests/gpu and bench need on a machine with a GPU, without compilers or libdw.
.PHONY: pack
pack: DW_LIBS := -l:libdw.a -l:libelf.a -lz -llzma -lbz2
pack: all tests bench gpu-programs
	$(call say,TAR,$O.tar.xz)
	$Qtar -cf - --exclude='*/obj' --exclude='*/gen' --exclude='*_simstatic' $O | xz -T0 -3 > $O.tar.xz

# --- packages -------------------------------------------------------------------------------
# A wheel for any glibc since 2.31: the program is static, the simulated device has its libraries
# within.  A Debian package of what "make install" installs.
.PHONY: wheel deb
STATIC_LIBS := -l:libelf.a -l:liblz4.a -l:libzstd.a -l:libz.a
wheel: $(addprefix $O/wheel/,cufence libcufence.so $(notdir $(SHIM_LIBS) $(SIM_LIBS)))
	$Qpackages/wheel.py $O $(VERSION)
$O/wheel/cufence: $(ANALYZER_OBJ) $(SASS_OBJ) $(FATBIN_OBJ) $(TRACE_OBJ)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(CFLAGS) $(LDFLAGS) -s -static $^ -o $@ -l:libdw.a $(STATIC_LIBS) $(MD_LIBS) -lbz2 -llzma -lsqlite3 \
		-lm -ldl 2> $@.log || { cat $@.log; false; }
$O/wheel/libcufence.so $(SHIM_LIBS:$O/lib/%=$O/wheel/%): $O/wheel/%: $O/lib/%
	@mkdir -p $(@D)
	$Qstrip -o $@ $<
$O/wheel/libcuda.so.1: $(call objects,$(SIM_CUDA)) $(TRACE_OBJ) $(FATBIN_OBJ)
$O/wheel/libcudart.so.13: $(call objects,sim/cudart)
$O/wheel/libcupti.so.13: $(call objects,sim/cupti)
$O/wheel/lib%: $O/obj/packages/portable.o $(wildcard sim/*/*.map)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$Q$(CC) $(CFLAGS) $(LDFLAGS) -s -shared -Wl,-soname,$(@F) -Wl,-Bsymbolic -Wl,--exclude-libs,ALL \
		-Wl,--version-script=$(wildcard sim/*/$(firstword $(subst ., ,$(@F))).map) $(filter %.o,$^) -o $@ \
		$(if $(findstring libcuda.so,$@),$(STATIC_LIBS)) $(OLD_LIBS)
deb: all
	$Qpackages/deb $O $(VERSION)

# --- the rest -------------------------------------------------------------------------------
features:
	@echo "cufence $(VERSION) in $O: cuda $(or $(cuda),no (set CUDA_HOME: without it no recorder, simulator or test apps))"
lint:
	$Q./.ci/lint
fmt:
	$Qclang-format -i $$(git ls-files '*.c' '*.h' ':!trace/calls*')
# Where each shell looks for them; the first word names it.
COMPLETIONS := bash-completion/completions/cufence zsh/site-functions/_cufence \
	fish/vendor_completions.d/cufence.fish
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/cufence $(DESTDIR)$(PREFIX)/share/man/man1
	install $O/bin/cufence $(DESTDIR)$(PREFIX)/bin/
	$(if $(cuda),install $O/lib/libcufence.so $(SHIM_LIBS) $(SIM_LIBS) $O/sim/cufence-probe $(DESTDIR)$(PREFIX)/lib/cufence/)
	$(if $(cuda),install $O/bin/cufence-probe $(DESTDIR)$(PREFIX)/bin/)
	install -m 644 doc/cufence.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -d $(dir $(addprefix $(DESTDIR)$(PREFIX)/share/,$(COMPLETIONS)))
	$(foreach c,$(COMPLETIONS),$O/bin/cufence completion $(firstword $(subst -, ,$(subst /, ,$c))) \
		>$(DESTDIR)$(PREFIX)/share/$c &&) true
	install -d $(DESTDIR)$(PREFIX)/share/doc/cufence $(DESTDIR)$(PREFIX)/share/cufence
	install -m 644 jupyter/cufence_kernel.py $(DESTDIR)$(PREFIX)/share/cufence/
	install -m 644 doc/RULES.md doc/SCHEMA.md doc/EXPORT.md doc/FORMAT.md doc/report.schema.json doc/grafana.json \
		$(DESTDIR)$(PREFIX)/share/doc/cufence/
uninstall:
	rm -rf $(DESTDIR)$(PREFIX)/bin/cufence $(DESTDIR)$(PREFIX)/bin/cufence-probe \
		$(DESTDIR)$(PREFIX)/lib/cufence \
		$(DESTDIR)$(PREFIX)/share/man/man1/cufence.1 $(DESTDIR)$(PREFIX)/share/doc/cufence $(DESTDIR)$(PREFIX)/share/cufence \
		$(addprefix $(DESTDIR)$(PREFIX)/share/,$(COMPLETIONS))
clean:
	rm -rf $O
# Which folders' headers each folder may use.
rooms:
	@:$(foreach folder,$(sort $(filter SEES_%,$(.VARIABLES))),$(info $(folder:SEES_%=%): $($(folder))))
help:
	@echo 'make [all]      build everything this machine can, under $$(O) ($O)'
	@echo 'make deps GOAL  install missing Debian packages, then make GOAL'
	@echo 'make demo       trace a real test app and print the report'
	@echo 'make tutorial   build the programs of doc/TUTORIAL.md'
	@echo 'make check      all tests; N passed, N failed'
	@echo 'make test T="test_waits golden.sh"  some tests, and what they need'
	@echo 'make compiled   compile all C, link no tests: for what another CC= has to say'
	@echo 'make check-repeat  N=20 times, with LOAD=2 processes that compute'
	@echo 'make check-mutations  break what doc/KEPT.md lists: a test must fail each time'
	@echo 'make check-libraries  decode all machine code of the toolkit'\''s libraries (LIBRARIES=)'
	@echo 'make check-kernels   machine code against PTX, of the .cu files of a folder (KERNELS=)'
	@echo 'make bench      build the benchmarks; make bench-load: what loading a trace takes,'
	@echo '                bench-analyze: all of the analysis'
	@echo 'bench/page BUILD  what the page of a million operations takes (chromedriver)'
	@echo 'make fuzz       fuzz what reads traces and images, FUZZ_SECONDS each (60)'
	@echo 'make pack       $$(O).tar.xz for a machine with a GPU and without compilers (CONTRIBUTING.md)'
	@echo 'make wheel      $$(O)/cufence-*.whl for pip: program, recorder and simulator (glibc 2.31 or later)'
	@echo 'make deb        $$(O)/cufence_*.deb'
	@echo 'make rooms      which folders each folder may use'
	@echo 'make lint fmt install uninstall clean'
	@echo 'variables       O= V=1 DEBUG=1 SAN=address,undefined COVERAGE=1 CUDA_HOME= CC= CFLAGS= PREFIX='
	@echo '                CUDA_O= (another build whose compiled .cu files are used)'

-include $(shell find $O/obj $O/fuzz/obj -name '*.d' 2>/dev/null)
endif
