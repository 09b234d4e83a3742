import { newWidget, widgetDefinition, widgets, widgetVersion } from './widget-definition.ts';

export const betaWidgets: string = widgets.replace('/v1/', '/v1beta1/');

const text = { type: 'string' } as const;
const v1Spec = { type: 'object', properties: { first: text, last: text } } as const;
const betaSpec = { type: 'object', properties: { name: text } } as const;

/** A Widget in one of its two versions. */
export interface ConvertedWidget {
  readonly apiVersion: string;
  readonly metadata: { readonly labels?: object; readonly name: string };
  readonly spec: { readonly name?: string; readonly first?: string; readonly last?: string };
}

/** Converts a Widget: `spec.name` in v1beta1 is `spec.first` and `spec.last` in v1. */
export function convertWidget(apiVersion: string, object: ConvertedWidget): object {
  const { name = '', first = '', last = '' } = object.spec;
  const [before = '', after = ''] = name.split(' ');
  const spec = apiVersion.endsWith('/v1') ? { first: before, last: after } : { name: `${first} ${last}` };
  return { ...object, apiVersion, spec };
}

/** The webhook that converts Widgets: returns the response to a conversion review. */
export function convertWidgets(request: {
  readonly objects: readonly ConvertedWidget[];
  readonly desiredAPIVersion: string;
}): object {
  const convertedObjects = request.objects.map((object) => convertWidget(request.desiredAPIVersion, object));
  return { convertedObjects, result: { status: 'Success' } };
}

interface ConvertingParts {
  /** The storage version. */
  readonly storage: 'v1' | 'v1beta1';
  readonly clientConfig: object;
}

/** Returns a definition of Widget in two versions, between which a webhook converts. */
export function convertedDefinition({ storage, clientConfig }: ConvertingParts): { readonly spec: object } {
  const version = (name: string, spec: object): object =>
    widgetVersion({
      name,
      storage: storage === name,
      schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
      subresources: undefined,
      selectableFields: undefined,
    });
  const conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
  const versions = [version('v1', v1Spec), version('v1beta1', betaSpec)];
  return widgetDefinition({ versions, conversion }) as { readonly spec: object };
}

/** Returns a Widget of v1. */
export function newV1Widget(name: string, first: string, last: string): object {
  return { ...newWidget(name), spec: { first, last } };
}

/** Returns a Widget of v1beta1. */
export function newBetaWidget(name: string, full: string): object {
  return { ...newWidget(name), apiVersion: 'shop.example.com/v1beta1', spec: { name: full } };
}
