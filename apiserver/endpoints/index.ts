// The API for authors of endpoints. The server creates the requests, so this file needs only their types, and does not
// load the server.
export { accept, contentType, predicate } from './routes/predicates.ts';
export type { Mismatch, RequestPredicate } from './routes/predicates.ts';
export {
  ApiVersion,
  DeleteMapping,
  GetMapping,
  PatchMapping,
  PostMapping,
  PutMapping,
  RequestMapping,
  RestController,
} from './routes/controller-decorators.ts';
export type { ControllerDecorator, MappingDecorator } from './routes/controller-decorators.ts';
export type { AnyClass, MappingOptions } from './routes/controller-metadata.ts';
export { consoleGroup, publicGroup, userGroup } from './routes/group-names.ts';
export { route, RouteBuilder } from './routes/route-builder.ts';
export type { RouteArguments } from './routes/route-builder.ts';
export type { AfterFunction, BeforeFunction, ErrorFunction, FilterFunction } from './routes/filters.ts';
export type {
  EndpointResponse,
  HandlerFunction,
  RouteMethod,
  RouteOptions,
  RoutePermission,
  RouterFunction,
} from './routes/router.ts';
export type { RequestUser, ServerRequest } from './routes/server-request.ts';
export { ServerResponse } from './routes/server-response.ts';
export type { Pieces, ResponseBody, ServerEvent } from './routes/server-response.ts';
