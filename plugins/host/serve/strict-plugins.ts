import type { Logger } from '@homeostat/controller-runtime/api';
import { stderr } from '../text/line-output.ts';
import type { PluginHost } from '../host/plugin-host.ts';

interface StrictPluginsParts {
  readonly host: () => Pick<PluginHost, 'statuses'> | undefined;
  readonly logger: Logger;
  /** Ends the server. */
  readonly fail: () => void;
}

/** The plugins of `--plugin`. With `serve --strict`, the server ends when one of them fails. */
export class StrictPlugins {
  readonly #parts: StrictPluginsParts;
  readonly #names = new Set<string>();
  #hasFailed = false;

  constructor(parts: StrictPluginsParts) {
    this.#parts = parts;
  }

  add(name: string): void {
    this.#names.add(name);
    this.check();
  }

  /** Ends the server when one of the plugins of `--plugin` is Failed. */
  check(): void {
    const { host, logger, fail } = this.#parts;
    const failed = host()
      ?.statuses()
      .find(({ name, phase }) => phase === 'Failed' && this.#names.has(name));
    if (failed === undefined || this.#hasFailed) return;
    this.#hasFailed = true;
    const { name, reason } = failed;
    logger.error({ plugin: name, reason }, 'a plugin failed, and --strict is set: stopping');
    stderr.write(`plugin "${name}" failed, and --strict is set: ${reason ?? ''}\n`);
    fail();
  }
}
