import { isClass, readDeclaration, readMethods } from './controller-metadata.ts';
import type { AnyClass, MappingOptions, MethodMapping } from './controller-metadata.ts';
import { checkVariables, parsePattern } from './path-pattern.ts';
import { accept, contentType } from './predicates.ts';
import type { RequestPredicate } from './predicates.ts';
import { checkDeadline } from './route-builder.ts';
import type { EndpointResponse, HandlerFunction, RouteDefinition } from './router.ts';
import { isServerResponse, ServerResponse } from './server-response.ts';

/** A controller class with HTTP routes, which a plugin adds as a class or as an instance. */
export interface Controller {
  readonly className: string;
  /** The value of `@ApiVersion`; undefined when it is missing, and the controller is then ignored. */
  readonly apiVersion: string | undefined;
  /**
   * Returns the routes. Creates the instance if a class was given. @throws the error of the constructor; TypeError for
   * a class whose constructor has parameters, and for an invalid mapping (the message names class and method).
   */
  routes(): readonly RouteDefinition[];
}

/**
 * Reads what the decorators of a controller class declare; returns undefined when the class has no decorator of ours.
 * @throws TypeError when the class has other decorators of ours, but not `@RestController`.
 */
export function readController(target: unknown): Controller | undefined {
  const cls = classOf(target);
  const declared = cls === undefined ? undefined : readDeclaration(cls);
  if (cls === undefined || declared === undefined) return undefined;
  if (!declared.isController) throw new TypeError(`the class ${cls.name} must have the decorator @RestController`);
  return {
    className: cls.name,
    apiVersion: declared.apiVersion,
    routes: () => {
      const instance = typeof target === 'object' && target !== null ? target : construct(cls);
      return routesOf(cls, declared.mapping ?? '', instance);
    },
  };
}

function classOf(target: unknown): AnyClass | undefined {
  if (isClass(target)) return target;
  if (typeof target !== 'object' || target === null) return undefined;
  const { constructor } = target;
  return isClass(constructor) ? constructor : undefined;
}

function construct(cls: AnyClass): object {
  if (!takesNothing(cls))
    throw new TypeError(`the constructor of ${cls.name} takes arguments: add an instance instead of the class`);
  return new cls();
}

function takesNothing(cls: AnyClass): cls is new () => object {
  return cls.length === 0;
}

function routesOf(cls: AnyClass, mapping: string, instance: object): readonly RouteDefinition[] {
  return [...readMethods(cls)].flatMap(([name, mappings]) =>
    mappings.map((each) => {
      try {
        return createRoute(each, { mapping, name, instance });
      } catch (cause) {
        throw new TypeError(`${cls.name}.${name}: ${cause instanceof Error ? cause.message : String(cause)}`, {
          cause,
        });
      }
    }),
  );
}

interface Place {
  readonly mapping: string;
  readonly name: string;
  readonly instance: object;
}

function createRoute({ method, options }: MethodMapping, { mapping, name, instance }: Place): RouteDefinition {
  const segments = Object.freeze([...parsePattern(mapping), ...parsePattern(options.path ?? '')]);
  checkVariables(segments);
  checkDeadline('the mapping', options);
  const handler = handlerOf(instance, name, options);
  return Object.freeze({ kind: 'route', method, segments, predicate: predicateOf(options), handler, options });
}

function handlerOf(instance: object, name: string, { body }: MappingOptions): HandlerFunction {
  const call = (request: unknown): unknown => {
    const method: unknown = Reflect.get(instance, name);
    if (typeof method !== 'function') throw new TypeError(`${name} is no longer a method`);
    return Reflect.apply(method, instance, [request]);
  };
  if (body === undefined) return (request) => answerOf(call(request));
  return async (request) => {
    await request.json(body);
    return answerOf(await call(request));
  };
}

function answerOf(value: unknown): EndpointResponse | Promise<EndpointResponse> {
  if (value instanceof Promise) return value.then(answerOf);
  if (value === undefined) return ServerResponse.noContent();
  if (isServerResponse(value) || value instanceof Response) return value;
  return ServerResponse.ok().json(value);
}

function predicateOf(options: MappingOptions): RequestPredicate | undefined {
  const conditions = [
    ...(options.contentType === undefined ? [] : [contentType(...listOf(options.contentType))]),
    ...(options.accept === undefined ? [] : [accept(...listOf(options.accept))]),
  ];
  const [first, second] = conditions;
  return second === undefined ? first : first?.and(second);
}

function listOf(value: string | readonly string[]): readonly string[] {
  return typeof value === 'string' ? [value] : value;
}
