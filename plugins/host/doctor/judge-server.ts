import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { requestServer } from '../remote/request-server.ts';
import type { ServerAddress } from '../remote/request-server.ts';
import { accessCure } from '../serve/access-cure.ts';
import { errorText } from '../text/error-text.ts';
import { hostVersion } from '../text/host-version.ts';
import type { Finding } from './finding.ts';

const check = 'server';
const timeoutMs = 10_000;
const toleratedSkewMs = 10_000;

export interface RunningServer {
  readonly address: ServerAddress;
  readonly serviceDomain: string;
  readonly nowMs: () => number;
}

/**
 * True when a Homeostat server responds at the address, or when the request fails with an error for which
 * {@link accessCure} returns a cure.
 */
export async function isServing(address: ServerAddress): Promise<boolean> {
  try {
    const response = await ask(address, '/livez?verbose');
    return /^livez check (?:passed|failed)$/m.test(await response.text());
  } catch (error) {
    // accessCure knows only errors that show that a server responded, for example with an untrusted certificate.
    return accessCure(error) !== undefined;
  }
}

/** Judges a running server by its health checks, its metrics, and the states that it reports. */
export async function judgeServer(running: RunningServer): Promise<readonly Finding[]> {
  const { address } = running;
  try {
    const refused = await judgeAccess(address);
    if (refused !== undefined) return [refused];
    const findings = [
      ...(await judgeHealth(running)),
      ...(await judgeBrokenObjects(address)),
      ...(await judgeServedPlugins(running)),
      ...(await judgeStuck(address)),
    ];
    return findings.length > 0 ? findings : [{ check, level: 'ok', message: `${address.server} is ready` }];
  } catch (error) {
    const cure = accessCure(error) ?? 'start it: homeostat serve';
    return [{ check, level: 'error', message: `${address.server}: ${errorText(error)}`, cure }];
  }
}

function ask(address: ServerAddress, path: string): Promise<Response> {
  return requestServer(address, path, { signal: AbortSignal.timeout(timeoutMs) });
}

/**
 * Returns a warning if the user of the command may not read /metrics. Administrators may read it. Without this
 * permission, the other findings would be incomplete.
 */
async function judgeAccess(address: ServerAddress): Promise<Finding | undefined> {
  const { status } = await ask(address, '/metrics');
  if (status !== 401 && status !== 403) return undefined;
  const message = `${address.server} responds, but does not let this user read /metrics (${status})`;
  const cure = 'name the kubeconfig of an administrator in HOMEOSTAT_KUBECONFIG, or give --token';
  return { check, level: 'warning', message, cure };
}

async function judgeHealth({ address, nowMs }: RunningServer): Promise<readonly Finding[]> {
  const response = await ask(address, '/readyz?verbose');
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('[-]'));
  const findings = lines.map((line): Finding => {
    return { check, level: 'error', message: line.slice('[-]'.length), cure: 'see the log of the server' };
  });
  const skewMs = Math.abs(Date.parse(response.headers.get('date') ?? '') - nowMs());
  if (skewMs > toleratedSkewMs) {
    const message = `the clocks of the server and of this machine differ by ${Math.round(skewMs / 1000)} s`;
    findings.push({ check: 'clock', level: 'warning', message, cure: 'synchronize both clocks by NTP' });
  }
  const version = /\+homeostat\.(.+)$/.exec(String((await read(address, '/version'))['gitVersion']))?.[1];
  if (version !== undefined && version !== hostVersion()) {
    const message = `the server has version ${version}, but this command has version ${hostVersion()}`;
    findings.push({ check, level: 'warning', message, cure: 'restart the server with the installed version' });
  }
  return findings;
}

async function judgeBrokenObjects(address: ServerAddress): Promise<readonly Finding[]> {
  const metrics = await (await ask(address, '/metrics')).text();
  return [...metrics.matchAll(/^homeostat_broken_objects\{resource="([^"]*)"\} ([1-9]\d*)$/gm)].map(
    ([, resource = '', count = '']): Finding => ({
      check: 'objects',
      level: 'error',
      message: `${count} objects of ${resource} cannot be read; the log of the server names these objects`,
      cure: 'restore the encryption key, or replace or delete the objects: see docs/operating/databases.md',
    }),
  );
}

async function judgeServedPlugins({ address, serviceDomain }: RunningServer): Promise<readonly Finding[]> {
  const { items } = await read(address, `/apis/plugin.${serviceDomain}/v1alpha1/plugins`);
  return (Array.isArray(items) ? items : []).filter(isJsonObject).flatMap(judgePlugin);
}

function judgePlugin({ metadata, status }: JsonObject): readonly Finding[] {
  const name = isJsonObject(metadata) ? String(metadata['name']) : '';
  const { phase, reason, message, heldBack } = isJsonObject(status) ? status : {};
  const findings: Finding[] = [];
  if (phase === 'Failed') {
    const text = `plugin "${name}" is Failed (${String(reason)}): ${String(message)}`;
    findings.push({ check: 'plugins', level: 'error', message: text, cure: `see homeostat why plugin ${name}` });
  }
  if (reason === 'NotInstalled') {
    const cure = `install it again, or delete its Plugin object: homeostat delete plugin ${name}`;
    findings.push({ check: 'orphans', level: 'warning', message: `plugin "${name}" is no longer installed`, cure });
  }
  for (const held of Array.isArray(heldBack) ? heldBack.filter(isJsonObject) : []) {
    const text = `${String(held['count'])} objects of ${String(held['kind'])} cannot be deleted: their finalizer ${String(held['finalizer'])} waits for plugin "${name}"`;
    findings.push({ check: 'orphans', level: 'warning', message: text, cure: `start plugin "${name}"` });
  }
  return findings;
}

async function judgeStuck(address: ServerAddress): Promise<readonly Finding[]> {
  const { total, items } = await read(address, '/debug/stuck');
  if (typeof total !== 'number' || total === 0) return [];
  const first = Array.isArray(items) ? items.find(isJsonObject) : undefined;
  const message = `${total} objects make no progress; the problem of the first: ${String(first?.['message'] ?? first?.['problem'])}`;
  return [{ check: 'controllers', level: 'warning', message, cure: 'read /debug/stuck, and run homeostat why' }];
}

async function read(address: ServerAddress, path: string): Promise<JsonObject> {
  const response = await ask(address, path);
  const body: unknown = await response.json();
  if (!response.ok || !isJsonObject(body)) throw new Error(`GET ${path} returned ${response.status}`);
  return body;
}
