#!/usr/bin/env bash
# Find or install PostgreSQL, Redis, HAProxy, nginx, promtool, Chromium, Ray and the chat clients for Node for the tests that need
# them, and say what is there.
# Nothing is started: each test run makes a server of its own in a temporary folder and removes it afterwards.
set -euo pipefail

find_program() {  # NAME FOLDER...: the first one that can be run
    local name=$1 found folder
    shift
    if found=$(command -v "$name"); then
        echo "$found"
        return
    fi
    for folder in "$@"; do
        if [ -x "$folder/$name" ]; then
            echo "$folder/$name"
            return
        fi
    done
    return 1
}

postgres_folders() {  # newest version first; Debian keeps them off the PATH
    ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV
    ls -d /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin 2>/dev/null | sort -rV
}

find_postgres() {
    # shellcheck disable=SC2046  # one folder a word
    find_program initdb $(postgres_folders || true)
}

find_redis() {
    find_program redis-server /opt/homebrew/bin /usr/local/bin
}

find_haproxy() {
    find_program haproxy /usr/sbin /opt/homebrew/bin /usr/local/bin
}

find_shell() {  # Chromium without its windows: half the work
    find_program chromium-headless-shell /usr/bin
}

find_chromium() {
    find_shell || find_program chromium /usr/bin || find_program chromium-browser /usr/bin ||
        find_program google-chrome /usr/bin
}

NODE_CLIENTS='openai@7 @anthropic-ai/sdk@1 ai@7 @ai-sdk/openai@4 @ai-sdk/anthropic@4 zod@4 oidc-provider@9'

find_node_clients() {  # all of them: npm removes what another installation does not name
    local client
    for client in $NODE_CLIENTS; do
        [ -d ".venv/node/node_modules/${client%@*}" ] || return 1
    done
}

install_node_clients() {  # beside the virtual environment, so that `make clean` takes it along
    find_node_clients && return
    command -v npm >/dev/null || return 0
    mkdir -p .venv/node
    # shellcheck disable=SC2086
    npm install --prefix .venv/node --no-save --no-package-lock --no-audit --no-fund --silent $NODE_CLIENTS || true
}

find_promtool() {
    find_program promtool .venv/bin
}

install_promtool() {  # out of Debian's package, which would bring a Prometheus along that starts by itself
    local folder
    find_promtool >/dev/null && return
    [ -d .venv/bin ] && command -v apt-get dpkg >/dev/null || return 0
    folder=$(mktemp -d)
    apt-cache show prometheus >/dev/null 2>&1 || apt-get update -qq || true
    (cd "$folder" && apt-get download -qq prometheus >/dev/null 2>&1 && dpkg -x prometheus_*.deb .) &&
        cp "$folder/usr/bin/promtool" .venv/bin/ || true
    rm -rf "$folder"
}

find_nginx() {
    find_program nginx .venv/bin /usr/sbin /opt/homebrew/bin /usr/local/bin
}

install_nginx() {  # likewise: its package would begin to serve port 80
    local folder package
    find_nginx >/dev/null && return
    [ -d .venv/bin ] && command -v apt-get dpkg >/dev/null || return 0
    folder=$(mktemp -d)
    apt-cache show nginx >/dev/null 2>&1 || apt-get update -qq || true
    for package in nginx nginx-light; do  # the program is in the one or in the other
        (cd "$folder" && apt-get download -qq "$package" >/dev/null 2>&1 && dpkg -x "$package"_*.deb .) || true
        if [ -x "$folder/usr/sbin/nginx" ]; then
            # The libraries it wants (pcre2, openssl, zlib) nearly every Debian has; without them it would not run.
            "$folder/usr/sbin/nginx" -v 2>/dev/null && cp "$folder/usr/sbin/nginx" .venv/bin/ || true
            break
        fi
    done
    rm -rf "$folder"
}

find_ray() {
    .venv/bin/python -c 'from importlib.metadata import version; print(version("ray"))' 2>/dev/null
}

install_ray() {  # into the virtual environment; not every Python has it
    [ -x .venv/bin/python ] || return 0
    find_ray >/dev/null && return
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt 'ray[client]' || true
}

missing() {  # BROWSER: the packages to install
    find_postgres >/dev/null || echo postgresql
    find_redis >/dev/null || echo redis-server
    find_haproxy >/dev/null || echo haproxy
    # Hebrew needs a font that bare images lack.
    if [ "$1" = chromium-headless-shell ]; then
        find_shell >/dev/null || echo "$1" fonts-noto-core
    else
        find_chromium >/dev/null || echo "$1" fonts-noto-core
    fi
}

install_missing() {
    local packages browser=chromium
    if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
        [ -z "$(missing chromium-headless-shell)" ] && return
        apt-get update -qq || true
        apt-cache show chromium-headless-shell >/dev/null 2>&1 && browser=chromium-headless-shell
        mapfile -t packages < <(missing $browser | xargs -n 1)
        [ ${#packages[@]} -eq 0 ] && return
        echo "Installing ${packages[*]} …"
        export DEBIAN_FRONTEND=noninteractive
        # Debian would start a server for the whole machine; the tests neither need nor use one.
        apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null && return
        echo "apt-get could not install ${packages[*]}; tests that need them will be skipped."
    elif [ -n "$(missing chromium)" ]; then
        echo "Not found: $(missing chromium | xargs). Install them (sudo apt-get install …, brew install …)."
    fi
}

report() {
    local missing=0 path
    if path=$(find_postgres); then
        echo "PostgreSQL  $("$path" --version | sed 's/.*) //')  $(dirname "$path")"
        if [ "$(id -u)" -eq 0 ] && ! id postgres >/dev/null 2>&1; then
            echo "            but tests run as root need a user named postgres to run it as: useradd --system postgres"
            missing=1
        fi
    else
        echo "PostgreSQL  not found: tests marked 'postgres' will be skipped"
        missing=1
    fi
    if path=$(find_redis); then
        echo "Redis       $("$path" --version | sed -E 's/.*v=([0-9.]+).*/\1/')  $path"
    else
        echo "Redis       not found: tests that need it will be skipped"
        missing=1
    fi
    if path=$(find_haproxy); then
        echo "HAProxy     $("$path" -v | sed -nE '1s/.*version ([0-9.]+).*/\1/p')  $path"
    else
        echo "HAProxy     not found: tests behind a proxy will be skipped"
        missing=1
    fi
    if path=$(find_nginx); then
        echo "nginx       $("$path" -v 2>&1 | sed -nE '1s/.*nginx\/([0-9.]+).*/\1/p')  $path"
    else
        echo "nginx       not found: tests behind it will be skipped"
        missing=1
    fi
    if path=$(find_promtool); then
        echo "promtool    $("$path" --version 2>&1 | sed -nE '1s/.*version ([0-9.]+).*/\1/p')  $path"
    else
        echo "promtool    not found: tests of alerts and of the dashboard's queries will be skipped"
        missing=1
    fi
    if path=$(find_chromium); then
        echo "Chromium    $("$path" --version 2>/dev/null | grep -oE '[0-9.]+' | head -1)  $path"
    else
        echo "Chromium    not found: tests of pages will be skipped"
        missing=1
    fi
    if find_node_clients; then
        echo "Node        $(node --version)  with the chat clients of OpenAI, Anthropic and Vercel"
    else
        echo "Node        no chat clients: their tests will be skipped"
        missing=1
    fi
    if path=$(find_ray); then
        echo "Ray         $path"
    else
        echo "Ray         not found: tests on two nodes will be skipped"
        missing=1
    fi
    return $missing
}

cd "$(dirname "$0")/.."
install_missing
install_promtool
install_nginx
install_node_clients
install_ray
report
