import type { ApiServer } from '@homeostat/apiserver';
import { publicGroup, route, ServerResponse } from '@homeostat/apiserver/endpoints';
import type { ServerRequest } from '@homeostat/apiserver/endpoints';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { AuditEntry } from './audit-search.ts';
import { newestEntries } from './newest-entries.ts';
import type { NewestSearch } from './newest-entries.ts';

const groupVersion = `${publicGroup('audit.internal')}/v1`;
const defaultLimit = 100;
const maxLimit = 500;

/**
 * `GET /apis/api.audit.internal/v1/entries` searches this server's audit log, newest first, without the bodies of
 * requests. The request needs the verb `list` for the resource `entries` in the group `audit.internal`; a role grants
 * this like the permission for a kind.
 */
export function serveAuditEntries(server: Pick<ApiServer, 'endpoints'>, logFile: string | undefined): void {
  const owned = server.endpoints.forOwner('audit log');
  owned.add(
    route(groupVersion)
      .GET('/entries', async (request) => answer(request, logFile), {
        summary: 'Searches the audit log, newest first',
        permission: { verb: 'list', group: 'audit.internal', resource: 'entries' },
      })
      .build(),
  );
  owned.open();
}

async function answer(request: ServerRequest, logFile: string | undefined): Promise<ServerResponse> {
  const search = readSearch(request);
  if (logFile === undefined)
    throw new ApiError('NotFound', 'the server keeps no audit log: start it with --audit-log <file>');
  const { entries, isComplete } = await newestEntries(logFile, search, request.signal);
  return ServerResponse.ok().json({ complete: isComplete, items: entries.map(withoutBodies) });
}

/** Bodies are left out, because reading their objects needs other permissions. */
function withoutBodies(entry: AuditEntry): object {
  const { requestObject: _request, responseObject: _response, ...rest } = entry;
  return rest;
}

/** Reads the parameters of the search. @throws ApiError BadRequest that names the parameter with a bad value */
function readSearch(request: ServerRequest): NewestSearch {
  const text = (name: string): string | undefined => {
    const value = request.query(name)?.trim();
    return value === '' ? undefined : value;
  };
  return {
    user: text('user'),
    verb: text('verb'),
    resource: text('resource'),
    namespace: text('namespace'),
    name: text('name'),
    code: readNumber('code', text('code'), 599),
    sinceMs: readTime('since', text('since')),
    untilMs: readTime('until', text('until')),
    limit: readNumber('limit', text('limit'), maxLimit) ?? defaultLimit,
  };
}

function readNumber(name: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) throw new ApiError('BadRequest', `${name}: must be a number from 1 to ${most}`);
  return value;
}

function readTime(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const timeMs = Date.parse(text);
  if (Number.isNaN(timeMs)) throw new ApiError('BadRequest', `${name}: must be a time such as 2026-01-31T12:00:00Z`);
  return timeMs;
}
