import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa from 'koa';
import type { Context, Middleware, Request, Response } from 'koa';
import { newState } from '../request/request-state.ts';

/** Handles the request of a context. When it resolves, the response is in the context, or is being written. */
export type Handle = (context: Context) => Promise<void>;

/** The method by which koa handles a request. koa's types do not declare it. */
const koaHandler: unknown = Reflect.get(Koa.prototype, 'handleRequest');

/** Matches a request target without a query, and without characters that koa's parser treats specially. */
const pathAlone = /^\/[^?#\s]*$/;

/**
 * A Koa that, for a request without a query, creates koa's objects only when a handler uses them ({@link LeanContext}).
 * It sends a response whose body is a Buffer in one call. koa itself sends all other responses, such as streams, empty
 * responses, and those to uncaught errors.
 */
export class LeanKoa extends Koa {
  /** Returns the request handler for Node's server. It replaces koa's `callback`. */
  listener(handle: Handle): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
    return this.#answer.bind(this, handle);
  }

  /**
   * Creates the context of a request. It is koa's own if the target has a query, or characters that koa's parser treats
   * specially.
   */
  contextOf(req: IncomingMessage, res: ServerResponse): Context {
    if (!pathAlone.test(req.url ?? '')) return this.koaContextOf(req, res);
    return new ContextOfKoa(this, req, res);
  }

  koaContextOf(req: IncomingMessage, res: ServerResponse): Context {
    const context = this.createContext(req, res);
    context.state = newState(res);
    context.set(...firstHeader);
    res.statusCode = 404;
    return context;
  }

  async #answer(handle: Handle, req: IncomingMessage, res: ServerResponse): Promise<void> {
    const context = this.contextOf(req, res);
    const handled = handle(context);
    try {
      await handled;
      if (context.respond === false) return;
      const { body } = context;
      const isWhole = body instanceof Buffer && context.method !== 'HEAD' && !bodiless.has(context.status);
      if (isWhole && !res.destroyed && !res.writableEnded && res.socket?.writable !== false) {
        if (context instanceof LeanContext) context.writeHead(body.length);
        return void res.end(body);
      }
    } catch {
      // A rejection of `handled` is ignored here: the code below passes `handled` to koa, which reports the rejection.
    }
    if (!isHandler(koaHandler))
      throw new Error('koa has no method handleRequest: adapt this class to the new version of koa');
    const { statusCode } = context.res;
    await koaHandler.call(this, context, () => {
      res.statusCode = statusCode;
      return handled;
    });
  }
}

function isHandler(value: unknown): value is (this: Koa, context: Context, handle: Handle) => Promise<void> {
  return typeof value === 'function';
}

/** Statuses without a body. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/** Composes middlewares into one function. Each receives the rest of them as `next`. */
export function inOrder(all: readonly Middleware[]): Handle {
  async function from(position: number, context: Context): Promise<void> {
    await all[position]?.(context, () => from(position + 1, context));
  }
  return (context) => from(0, context);
}

const noQuery: Context['query'] = Object.freeze({});

const firstHeader = ['X-Content-Type-Options', 'nosniff'] as const;

/** The names and values of headers, alternately. */
type Headers = string[];

/** The name of a header, or, as koa also allows, an object with several names and their values. */
type HeaderNames = string | Record<string, string | string[]>;

/** The members of koa's context that LeanContext defines itself. It inherits all other members from koa's context. */
type Shown = Pick<
  Context,
  | 'app'
  | 'req'
  | 'res'
  | 'request'
  | 'response'
  | 'method'
  | 'headers'
  | 'path'
  | 'querystring'
  | 'query'
  | 'state'
  | 'status'
  | 'body'
  | 'get'
  | 'set'
>;

/** The objects that koa creates for each request. */
interface KoaParts {
  readonly request: Request;
  readonly response: Response;
}

/**
 * A context with the members of koa's context, for a request without a query. It creates koa's objects only when a
 * handler uses them. Most requests do not need them: their response is a status, a few headers and bytes, which this
 * class keeps until they are sent. At the first use of `res`, or of a member of koa that is not declared below, it
 * creates koa's objects, copies the state into them, and uses them from then on.
 */
class LeanContext implements Shown {
  readonly app: Koa;
  readonly req: IncomingMessage;
  readonly originalUrl: string;
  readonly method: string;
  readonly path: string;
  readonly querystring: string;
  readonly query: Context['query'];
  readonly headers: IncomingMessage['headers'];
  state: Context['state'];
  respond: boolean | undefined;
  readonly #res: ServerResponse;
  readonly #kept: Headers;
  #hasType: boolean;
  #status: number;
  #isStatusSet: boolean;
  #body: Buffer | undefined;
  #koa: KoaParts | undefined;

  constructor(app: Koa, req: IncomingMessage, res: ServerResponse) {
    const { url = '', method = '' } = req;
    this.app = app;
    this.req = req;
    this.originalUrl = url;
    this.method = method;
    this.path = url;
    this.querystring = '';
    this.query = noQuery;
    this.headers = req.headers;
    this.state = newState(res);
    this.respond = undefined;
    this.#res = res;
    this.#kept = [...firstHeader];
    this.#hasType = false;
    this.#status = 404;
    this.#isStatusSet = false;
    this.#body = undefined;
    this.#koa = undefined;
  }

  get request(): Request {
    return (this.#koa ??= this.#toKoa()).request;
  }

  get response(): Response {
    return (this.#koa ??= this.#toKoa()).response;
  }

  /** Node's response, for code that changes or writes it; `state.outgoing` is for code that only observes it. */
  get res(): ServerResponse {
    this.#koa ??= this.#toKoa();
    return this.#res;
  }

  get status(): number {
    return this.#koa === undefined ? this.#status : this.#koa.response.status;
  }

  set status(code: number) {
    if (this.#koa !== undefined) {
      this.#koa.response.status = code;
      return;
    }
    this.#status = code;
    this.#isStatusSet = true;
  }

  get body(): unknown {
    return this.#koa === undefined ? this.#body : this.#koa.response.body;
  }

  set body(value: unknown) {
    if (this.#koa !== undefined || !this.#hasType || !(value instanceof Buffer)) {
      this.response.body = value;
      return;
    }
    if (!this.#isStatusSet) this.status = 200;
    this.#body = value;
  }

  get(header: string): string {
    const name = header.toLowerCase();
    // koa accepts two spellings of this header.
    if (name === 'referer' || name === 'referrer') return this.request.get(name);
    return String(this.headers[name] ?? '');
  }

  set(name: HeaderNames, value: string | string[] = ''): void {
    if (typeof name !== 'string') return this.response.set(name);
    if (this.#koa !== undefined || typeof value !== 'string') return this.response.set(name, value);
    if (name === '') return;
    // These calls throw for a header that Node would refuse later, so that the stack shows the code that sets it.
    validateHeaderName(name);
    validateHeaderValue(name, value);
    if (name === 'Content-Type') this.#hasType = true;
    const kept = this.#kept;
    for (let at = 0; at < kept.length; at += 2) {
      if (kept[at]?.length !== name.length || kept[at]?.toLowerCase() !== name.toLowerCase()) continue;
      kept[at] = name;
      kept[at + 1] = value;
      return;
    }
    kept.push(name, value);
  }

  /**
   * Writes the status and the headers of a response with a body of this length. Does nothing when koa's objects exist,
   * because Node's response then has the status and the headers already.
   */
  writeHead(length: number): void {
    if (this.#koa !== undefined) return;
    this.#kept.push('Content-Length', String(length));
    this.#res.writeHead(this.#status, this.#kept);
  }

  /** Creates koa's objects, and copies the state of the response into them. */
  #toKoa(): KoaParts {
    const { app, req } = this;
    const res = this.#res;
    const { request, response } = app.createContext(req, res);
    // koa's request and response reach each other through their field `ctx`, so both get this context.
    Object.assign(request, { ctx: this });
    Object.assign(response, { ctx: this });
    this.#koa = { request, response };
    res.statusCode = this.#status;
    const kept = this.#kept;
    for (let at = 0; at < kept.length; at += 2) res.setHeader(kept[at] ?? '', kept[at + 1] ?? '');
    if (this.#isStatusSet) response.status = this.#status;
    if (this.#body !== undefined) response.body = this.#body;
    return this.#koa;
  }
}

// All other members are koa's own.
Object.setPrototypeOf(LeanContext.prototype, Reflect.getPrototypeOf(new Koa().context));

type ContextClass = new (...made: ConstructorParameters<typeof LeanContext>) => Context;

function isContextClass(made: unknown): made is ContextClass {
  return made === LeanContext && 'onerror' in LeanContext.prototype;
}

function contextClass(): ContextClass {
  const made: unknown = LeanContext;
  if (isContextClass(made)) return made;
  throw new Error('koa has no context with onerror: adapt this class to the new version of koa');
}

const ContextOfKoa = contextClass();
