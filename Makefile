# Installs what was built: the program, libraries, headers, pkg-config, a module file, man pages and completions.
#   make install PREFIX=/opt/hikyaku      builds first
#   make install BUILD=target/debug ...   takes another build as it is
# What is installed finds its parts by where it lies, so the folder may be moved. DESTDIR stages a package.
PREFIX ?= /usr/local
BUILD ?= target/release
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
MAJOR := $(firstword $(subst ., ,$(VERSION)))
TO := $(DESTDIR)$(PREFIX)
CARGO ?= cargo
STRIP ?= strip

.PHONY: all install
all:
ifeq ($(BUILD),target/release)
	$(CARGO) build --release -p hikyaku-cli -p hikyaku-c -p hikyaku-blacs
endif

install: all
	install -d "$(TO)/bin" "$(TO)/lib/pkgconfig" "$(TO)/include" "$(TO)/share/modulefiles/hikyaku" "$(TO)/share/man/man1" \
	    "$(TO)/share/bash-completion/completions" "$(TO)/share/zsh/site-functions" "$(TO)/share/fish/vendor_completions.d"
	install -m 755 $(BUILD)/hikyaku "$(TO)/bin/hikyaku"
	for library in libhikyaku.so libhikyaku_blacs.so; do \
	    install -m 755 $(BUILD)/$$library "$(TO)/lib/$$library.$(VERSION)" && \
	    $(STRIP) --strip-unneeded "$(TO)/lib/$$library.$(VERSION)" && \
	    ln -sf $$library.$(VERSION) "$(TO)/lib/$$library.$(MAJOR)" && \
	    ln -sf $$library.$(MAJOR) "$(TO)/lib/$$library" || exit 1; \
	done
	install -m 644 $(BUILD)/libhikyaku.a "$(TO)/lib/libhikyaku.a"
	$(STRIP) --strip-unneeded "$(TO)/bin/hikyaku"
	$(STRIP) --strip-debug "$(TO)/lib/libhikyaku.a"
	install -m 644 include/hikyaku.h include/hikyaku.f90 include/fmpl.h include/fmplf.h include/fmpl.f90 include/ompl.h \
	    "$(TO)/include"
	sed -e '/^#/d' -e 's|^prefix=.*|prefix=$${pcfiledir}/../..|' -e 's|^libdir=.*|libdir=$${prefix}/lib|' \
	    pkgconfig/hikyaku.pc > "$(TO)/lib/pkgconfig/hikyaku.pc"
	install -m 644 pkgconfig/modulefile "$(TO)/share/modulefiles/hikyaku/$(VERSION)"
	$(BUILD)/hikyaku manual "$(TO)/share/man/man1" bash="$(TO)/share/bash-completion/completions" \
	    zsh="$(TO)/share/zsh/site-functions" fish="$(TO)/share/fish/vendor_completions.d"
