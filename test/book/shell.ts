import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { testPatienceMs } from '@homeostat/controller-runtime/testing';

export interface ShellPlace {
  readonly folder: string;
  /** The folder with the executables that the book runs, such as `homeostat`. It comes first in the PATH. */
  readonly programs: string;
  readonly port: number;
}

/**
 * The time limit of a script that {@link Shell.run} runs. A script starts and stops a server within two seconds; the
 * limit is longer, because a busy machine takes longer.
 */
const stepTimeoutMs = 30_000;

/** The message that the shell prints when kubectl is missing. */
export const noKubectl = 'skipped, as there is no kubectl';

// Shell functions that behave like the commands in a user's terminal, with these differences: npx finds its programs on
// the PATH, and `npm install` does nothing. A server continues in the background once it is ready, and the next server
// replaces it. `homeostat plugin` and the commands for objects use this server, unless they have `--server`. `curl -N`
// ends after its first line of output. `curl -N` fails when the server refuses its request; curl without `-N` does so
// too, except in fences of the language `console` (a terminal with its output). The variable `page` has the folder of
// the page.
const functions = `
exec 2>&1
set -o pipefail
page=$PWD
homeostat() {
  case "$1 $*" in
    serve*|dev*) ;;
    *--server*) command homeostat "$@"; return ;;
    plugin*|get*|watch*|describe*|create*|apply*|edit*|patch*|delete*|wait*|explain*|api-resources*|events*)
      command homeostat "$@" --server "http://127.0.0.1:$HOMEOSTAT_PORT"; return ;;
    *) command homeostat "$@"; return ;;
  esac
  stop_server
  exec {logged}< <(exec homeostat "$@" 2>&1)
  server=$! log=
  local line
  while read -r line <&$logged; do
    log+="$line"$'\\n'
    [[ $line != *'"msg":"ready"'* ]] || return 0
  done
  printf 'the server did not start:\\n%s' "$log"
  return 1
}
stop_server() {
  [ -z "\${server:-}" ] && return
  kill $server; server=
  while read -r _ <&$logged; do :; done
}
npx() { "$@"; }
npm() {
  case "$*" in
    'create homeostat '*) shift 2; create-homeostat "$1" "\${@:3}" ;;
    install) ;;
    'run dev') homeostat dev ;;
    'run build') tsc ;;
    start) tsc && homeostat serve --plugin . ;;
    test) tsc && mocha ;;
    *) command npm "$@" ;;
  esac
}
curl() {
  local refused=--fail-with-body
  [ -z "$may_fail" ] || refused=
  case " $* " in
    *' -N '*) head -n 1 < <(command curl -sS --fail "$@") | grep . ;;
    *) command curl -sS $refused "$@" ;;
  esac
}
command -v kubectl >/dev/null || kubectl() { echo '${noKubectl}'; }
`;

/** A bash process for a whole page, so that variables keep their values between steps. */
export class Shell {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #folder: string;
  #printed = '';
  #wake: () => void = () => undefined;
  #hasEnded = false;

  private constructor(child: ChildProcessWithoutNullStreams, folder: string) {
    this.#child = child;
    this.#folder = folder;
    child.stdout.on('data', (chunk: Buffer) => {
      this.#printed += chunk.toString();
      this.#wake();
    });
    child.once('exit', () => {
      this.#hasEnded = true;
      this.#wake();
    });
  }

  static async start({ folder, programs, port }: ShellPlace): Promise<Shell> {
    const env = {
      PATH: `${programs}:${process.env['PATH']}`,
      HOME: join(folder, '.home'),
      HOMEOSTAT_PORT: String(port),
    };
    // The shell has its own process group, so that `stop` can kill all processes that the page has started.
    const shell = new Shell(spawn('bash', ['--norc', '--noprofile'], { cwd: folder, env, detached: true }), folder);
    await shell.run(functions, { mayFail: false });
    return shell;
  }

  /**
   * Runs a script, and resolves with its output. Rejects with the output when the script exceeds the time limit, or
   * when `mayFail` is false and a command fails.
   */
  async run(script: string, { mayFail }: { readonly mayFail: boolean }): Promise<string> {
    const file = join(this.#folder, '.step.sh');
    await writeFile(file, script);
    this.#printed = '';
    const mark = '::end of step::';
    const strictness = mayFail ? 'set +e; may_fail=1' : 'set -e; may_fail=';
    this.#child.stdin.write(`${strictness}\n. '${file}' </dev/null\nset +e; echo '${mark}'\n`);
    const limit = setTimeout(() => killGroup(this.#child.pid), testPatienceMs(stepTimeoutMs));
    while (!this.#printed.includes(mark)) {
      if (this.#hasEnded) {
        clearTimeout(limit);
        await this.stop();
        throw new Error(
          `a command failed, or took longer than ${testPatienceMs(stepTimeoutMs)} ms. Its output so far:\n${this.#printed}`,
        );
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    clearTimeout(limit);
    return this.#printed.slice(0, this.#printed.indexOf(mark));
  }

  /** Ends the server and all other processes that the page has started. */
  async stop(): Promise<void> {
    if (!this.#hasEnded) {
      this.#child.stdin.end('stop_server\n');
      await once(this.#child, 'exit');
    }
    killGroup(this.#child.pid);
    if (!this.#child.stdout.closed) await once(this.#child, 'close');
  }
}

function killGroup(id: number | undefined): void {
  try {
    if (id !== undefined) process.kill(-id, 'SIGKILL');
  } catch {
    // All processes of the group have ended already, so there is none to kill.
  }
}
