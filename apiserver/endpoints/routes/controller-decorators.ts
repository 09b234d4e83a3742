import { declarationOf } from './controller-metadata.ts';
import type { AnyClass, MappingOptions } from './controller-metadata.ts';
import type { RouteMethod } from './router.ts';
import type { ServerRequest } from './server-request.ts';

/** Decorates a controller class, whose methods serve HTTP routes. */
export type ControllerDecorator = (value: AnyClass, context: ClassDecoratorContext) => void;

/**
 * Decorates a method that handles requests. The method has one parameter, a {@link ServerRequest}, from which it reads
 * path variables, query and body, because TC39 decorators cannot decorate parameters. If the method returns a
 * ServerResponse or a standard Response, the server sends this response. It sends any other value as JSON (200), and
 * `undefined` as 204.
 */
export type MappingDecorator = (
  // oxlint-disable-next-line typescript/no-explicit-any -- `this` is whichever class has the method
  value: (this: any, request: ServerRequest) => unknown,
  context: ClassMethodDecoratorContext,
) => void;

/**
 * Declares a controller: a class whose methods handle requests (specification, section 4.3). The server ignores a
 * controller without {@link ApiVersion}.
 */
export function RestController(): ControllerDecorator {
  return (_value, context) => {
    ofClass(context, 'RestController').isController = true;
  };
}

/** Sets the path under which all methods of a controller are mapped. */
export function RequestMapping(path: string): ControllerDecorator {
  return (_value, context) => {
    ofClass(context, 'RequestMapping').mapping = path;
  };
}

/**
 * Sets the group and version of a controller, `<group>/<version>`; for a plugin of revision 2.9, only the version (spec
 * 4.3). The server checks the value when the plugin starts.
 */
export function ApiVersion(version: string): ControllerDecorator {
  return (_value, context) => {
    ofClass(context, 'ApiVersion').apiVersion = version;
  };
}

/** Maps GET and HEAD requests. */
export function GetMapping(options: string | MappingOptions = {}): MappingDecorator {
  return mapping('GET', options);
}

export function PostMapping(options: string | MappingOptions = {}): MappingDecorator {
  return mapping('POST', options);
}

export function PutMapping(options: string | MappingOptions = {}): MappingDecorator {
  return mapping('PUT', options);
}

export function PatchMapping(options: string | MappingOptions = {}): MappingDecorator {
  return mapping('PATCH', options);
}

export function DeleteMapping(options: string | MappingOptions = {}): MappingDecorator {
  return mapping('DELETE', options);
}

function mapping(method: RouteMethod, given: string | MappingOptions): MappingDecorator {
  const options = Object.freeze(typeof given === 'string' ? { path: given } : { ...given });
  return (_value, context) => {
    const name = methodName(context);
    const { methods } = declarationOf(context);
    methods.set(name, [...(methods.get(name) ?? []), { method, options }]);
  };
}

function ofClass(context: ClassDecoratorContext, decorator: string): ReturnType<typeof declarationOf> {
  if (context?.kind !== 'class')
    throw new TypeError(`@${decorator} is a standard class decorator: turn experimentalDecorators off`);
  return declarationOf(context);
}

function methodName(context: ClassMethodDecoratorContext): string {
  if (typeof context !== 'object')
    throw new TypeError('@GetMapping and the like are standard decorators: turn experimentalDecorators off');
  const { kind, name, private: isPrivate, static: isStatic } = context;
  if (kind !== 'method' || isPrivate || isStatic || typeof name !== 'string') {
    throw new TypeError(
      `a route decorator needs a public instance method, not ${isStatic ? 'static ' : ''}${kind} ${String(name)}`,
    );
  }
  return name;
}
