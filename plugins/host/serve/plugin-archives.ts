import type { ApiServer } from '@homeostat/apiserver';
import { publicGroup, route, ServerResponse } from '@homeostat/apiserver/endpoints';
import type { RouterFunction, ServerRequest } from '@homeostat/apiserver/endpoints';
import { ApiError, ignoreNotFound } from '@homeostat/controller-runtime/api';
import type { Clock, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { sleep, systemClock } from '@homeostat/controller-runtime';
import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { installPlugin, removePlugin } from '../install/install-plugin.ts';
import { installedPlugins } from '../install/installed-plugins.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import type { PluginObject } from '../objects/plugin-kind.ts';
import { errorText } from '../text/error-text.ts';

export interface PluginArchivesParts {
  readonly server: Pick<ApiServer, 'client' | 'endpoints' | 'schemeManager'>;
  /** The server's folder of plugins. When undefined, no plugin can be installed. */
  readonly pluginsDir: string | undefined;
  /**
   * True for a server with `--auth open`. Requests cannot install plugins on such a server, because they have no
   * credentials.
   */
  readonly isOpen: boolean;
  /** The environment of npm, which installs the dependencies of a plugin. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Default: the real time. */
  readonly clock?: Clock;
}

/** The API group and version in the paths of plugin archives. Plugins cannot declare kinds in this group. */
const groupVersion = `${publicGroup('plugins.internal')}/v1`;

/**
 * The maximum size of an upload: enough for a package with its bundled dependencies. `homeostat plugin install
 * --plugins-dir` also installs larger archives, because it does not upload them.
 */
const maxUploadBytes = 64 * 1024 * 1024;

/** The time limit of an installation or a removal: enough for an upload over a slow connection, and for npm. */
const deadlineMs = 300_000;

/** The time limit for the stop of a plugin, and the interval between checks of its phase. */
const stopMs = 65_000;
const pollMs = 100;

/**
 * `POST /apis/api.plugins.internal/v1/archives` installs the plugin of a `.tgz`, and `DELETE
 * …/archives/<name>` uninstalls a plugin, like the commands `homeostat plugin install` and `uninstall`. Each has its
 * own permission, because plugins are trusted code.
 */
export function servePluginArchives(parts: PluginArchivesParts): void {
  const owned = parts.server.endpoints.forOwner('plugin archives');
  owned.add(new PluginArchives(parts).routes());
  owned.open();
}

class PluginArchives {
  readonly #parts: PluginArchivesParts;
  readonly #kind: ModelDescriptor<PluginObject>;
  #isBusy = false;

  constructor(parts: PluginArchivesParts) {
    this.#parts = parts;
    this.#kind = pluginKind(parts.server.schemeManager.serviceDomain);
  }

  routes(): RouterFunction {
    const permission = { group: this.#kind.group, resource: 'plugins/archive' } as const;
    return route(groupVersion)
      .GET('/archives', async () => ServerResponse.ok().json(await this.#state()), {
        summary:
          'Returns the plugins that requests can uninstall, and why requests cannot install plugins (null if they can)',
      })
      .POST('/archives', async (request) => this.#alone(async (folder) => this.#install(request, folder)), {
        summary: 'Installs the plugin of an archive (.tgz), replacing a plugin of the same name',
        permission: { verb: 'create', ...permission },
        deadlineMs,
      })
      .DELETE('/archives/:name', async (request) => this.#alone(async (folder) => this.#uninstall(request, folder)), {
        summary: 'Stops an installed plugin, and removes its files; its objects stay',
        permission: { verb: 'delete', ...permission, nameFrom: 'name' },
        deadlineMs,
      })
      .build();
  }

  async #state(): Promise<{ readonly problem: string | null; readonly installed: readonly string[] }> {
    const { pluginsDir } = this.#parts;
    const problem = this.#problem() ?? null;
    return {
      problem,
      installed: problem !== null || pluginsDir === undefined ? [] : await installedPlugins(pluginsDir),
    };
  }

  #problem(): string | undefined {
    const { pluginsDir, isOpen } = this.#parts;
    if (pluginsDir === undefined) return 'the server has no folder of plugins: start it with --plugins-dir';
    // A server with `--auth open` refuses installations by requests: otherwise every user of the machine could run code
    // as the server's user.
    return isOpen
      ? 'with --auth open, plugins cannot be installed or removed over HTTP: use homeostat plugin install --plugins-dir'
      : undefined;
  }

  /**
   * Runs one installation or removal of a plugin at a time, because two could change the same folder. Rejects (429)
   * while another one runs.
   */
  async #alone(work: (pluginsDir: string) => Promise<ServerResponse>): Promise<ServerResponse> {
    const { pluginsDir } = this.#parts;
    const problem = this.#problem();
    if (problem !== undefined || pluginsDir === undefined) throw new ApiError('Forbidden', problem ?? '');
    if (this.#isBusy)
      throw new ApiError('TooManyRequests', 'another plugin is being installed or removed: try again later', {
        retryAfterSeconds: 5,
      });
    this.#isBusy = true;
    try {
      return await work(pluginsDir);
    } finally {
      this.#isBusy = false;
    }
  }

  async #install(request: ServerRequest, pluginsDir: string): Promise<ServerResponse> {
    const file = join(pluginsDir, `.${randomUUID()}.tgz`);
    try {
      await receive(request.body, file);
      const { environment } = this.#parts;
      const { manifest, replaced } = await installPlugin(file, pluginsDir, { runScripts: false, environment }).catch(
        (cause: unknown) => {
          const text = errorText(cause).replaceAll(file, 'the archive');
          throw new ApiError('Invalid', `the plugin cannot be installed: ${text}`, { cause });
        },
      );
      const { name, version } = manifest;
      await this.#start(name);
      const former = replaced === undefined ? {} : { replaced: replaced.version };
      return ServerResponse.status(201).json({ name, version, ...former });
    } finally {
      await rm(file, { force: true });
    }
  }

  async #start(name: string): Promise<void> {
    const { client } = this.#parts.server;
    const spec = { reload: randomUUID() };
    const present = await client.get(this.#kind, name).catch(ignoreNotFound);
    if (present === undefined)
      await client.create(this.#kind, { metadata: { name }, spec: { enabled: true, ...spec } });
    else await client.patch(this.#kind, name, { type: 'merge', patch: { spec } });
  }

  async #uninstall(request: ServerRequest, pluginsDir: string): Promise<ServerResponse> {
    const { client } = this.#parts.server;
    const name = request.pathVariable('name');
    if (!(await installedPlugins(pluginsDir)).includes(name))
      throw new ApiError('NotFound', `there is no plugin "${name}" in the server's folder of plugins`);
    const object = await client.get(this.#kind, name).catch(ignoreNotFound);
    if (object !== undefined) await this.#stopped(name, request.signal);
    await removePlugin(name, pluginsDir);
    if (object !== undefined) await client.delete(this.#kind, name).catch(ignoreNotFound);
    return ServerResponse.ok().json({ name });
  }

  async #stopped(name: string, signal: AbortSignal): Promise<void> {
    const { server, clock = systemClock } = this.#parts;
    const patch = { spec: { enabled: false } };
    const { metadata } = await server.client.patch(this.#kind, name, { type: 'merge', patch });
    const deadlineAtMs = clock.monotonicMs() + stopMs;
    for (;;) {
      const object = await server.client.get(this.#kind, name).catch(ignoreNotFound);
      if (object === undefined || (isObserved(object, metadata.generation) && hasEnded(object))) return;
      if (clock.monotonicMs() > deadlineAtMs)
        throw new ApiError('Timeout', `plugin "${name}" has not stopped; the plugin is disabled, and its files stay`);
      await sleep(clock, pollMs, signal);
      signal.throwIfAborted();
    }
  }
}

const hasEnded = ({ status }: PluginObject): boolean => status?.phase === 'Stopped' || status?.phase === 'Failed';

function isObserved({ status }: PluginObject, generation: number): boolean {
  const observed = status?.conditions?.find(({ type }) => type === 'Ready')?.observedGeneration ?? 0;
  return observed >= generation;
}

/**
 * Writes an upload to a new file.
 * @throws ApiError 413 when the upload is too large.
 */
async function receive(body: AsyncIterable<Uint8Array>, file: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    let bytes = 0;
    for await (const piece of body) {
      bytes += piece.length;
      if (bytes > maxUploadBytes)
        throw new ApiError(
          'RequestEntityTooLarge',
          'the archive is larger than 64 MiB: use homeostat plugin install --plugins-dir',
        );
      await handle.write(piece);
    }
  } finally {
    await handle.close();
  }
}
