// What authors of endpoints need. It loads no server: requests and answers are described here, and made where they are served.
export { accept, contentType, predicate } from './predicates.ts';
export type { Mismatch, RequestPredicate } from './predicates.ts';
export {
  ApiVersion,
  DeleteMapping,
  GetMapping,
  PatchMapping,
  PostMapping,
  PutMapping,
  RequestMapping,
  RestController,
} from './controller-decorators.ts';
export type { ControllerDecorator, MappingDecorator } from './controller-decorators.ts';
export type { AnyClass, MappingOptions } from './controller-metadata.ts';
export { consoleGroup, publicGroup, userGroup } from './group-names.ts';
export { route, RouteBuilder } from './route-builder.ts';
export type { RouteArguments } from './route-builder.ts';
export type { AfterFunction, BeforeFunction, ErrorFunction, FilterFunction } from './filters.ts';
export type { EndpointResponse, HandlerFunction, RouteMethod, RouteOptions, RouterFunction } from './router.ts';
export type { ServerRequest } from './server-request.ts';
export { ServerResponse } from './server-response.ts';
export type { Pieces, ResponseBody, ServerEvent } from './server-response.ts';
