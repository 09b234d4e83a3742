import { ApiError, isJsonObject, reasonOfCode } from '../../api/index.ts';
import type { Clock, Status, StatusReason } from '../../api/index.ts';
import { readText } from './bounded-body.ts';

/**
 * The maximum size of an error response. It is enough for a Status with thousands of causes. A longer response, such as
 * the error page of a proxy, counts as a response without a Status.
 */
const maxErrorBytes = 1024 * 1024;

/**
 * Returns the error for a response other than 2xx: the error of its Status, or, when the body is not a Status, an error
 * for its code. A body that is not a Status can come from a proxy. The header Retry-After is used when the Status has
 * no retryAfterSeconds.
 */
export async function errorOfResponse(request: RequestLine, response: Response, clock: Clock): Promise<ApiError> {
  const status = parseStatus(await readText(response, maxErrorBytes).catch(() => ''));
  const retryAfterSeconds = status?.details?.retryAfterSeconds ?? retryAfterOf(response, clock);
  const retry = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  if (status === undefined) {
    const message = `${request.method} ${request.path} got ${response.status} ${response.statusText}`.trimEnd();
    return new ApiError(reasonWithoutStatus(request, response.status), message, retry);
  }
  return ApiError.fromStatus({
    ...status,
    code: status.code ?? response.status,
    details: { ...status.details, ...retry },
  });
}

export interface RequestLine {
  readonly method: string;
  readonly path: string;
}

/**
 * Returns the reason for a status code. 409 has two meanings: for a creation, the name is taken; for all other
 * requests, the object has changed.
 */
function reasonWithoutStatus(request: RequestLine, code: number): StatusReason {
  return code === 409 && request.method !== 'POST' ? 'Conflict' : reasonOfCode(code);
}

const isStatus = (value: unknown): value is Status => isJsonObject(value) && value['kind'] === 'Status';

function parseStatus(text: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isStatus(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the seconds of the header Retry-After, which is a number of seconds or an HTTP date (RFC 9110, 10.2.3);
 * undefined when it is absent or has another form.
 */
function retryAfterOf(response: Response, clock: Clock): number | undefined {
  const value = response.headers.get('retry-after');
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const untilMs = Date.parse(value);
  return Number.isNaN(untilMs) ? undefined : Math.max(0, Math.ceil((untilMs - clock.now()) / 1000));
}
