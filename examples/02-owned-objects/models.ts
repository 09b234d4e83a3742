import { defineModel } from 'homeostat';

const text = { type: 'string', maxLength: 200 } as const;
const siteName = { type: 'string', maxLength: 253 } as const;
/**
 * The name of a page or redirect of a site. It has no dots, because a dot separates it from the site's name (see
 * {@link ofSite}).
 */
const slug = { type: 'string', maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' } as const;
const host = { type: 'string', maxLength: 253, pattern: '^[a-z0-9.-]+$' } as const;

/**
 * Makes the API refuse a list with two entries of the same name: they would describe one object in two ways, and the
 * controller would change this object again and again.
 */
const eachOnce = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'], maxItems: 100 } as const;
const pages = {
  ...eachOnce,
  type: 'array',
  items: { type: 'object', required: ['name', 'title'], properties: { name: slug, title: text } },
} as const;
const redirects = {
  ...eachOnce,
  type: 'array',
  items: { type: 'object', required: ['name', 'to'], properties: { name: slug, to: text } },
} as const;

const condition = {
  type: 'object',
  required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
  properties: {
    type: { type: 'string' },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    lastTransitionTime: { type: 'string', format: 'date-time' },
    reason: { type: 'string' },
    message: { type: 'string' },
  },
} as const;

export const Site = defineModel({
  gvk: 'sites.example.com/v1alpha1/Site',
  plural: 'sites',
  subresources: ['status'],
  printerColumns: [
    { name: 'Host', type: 'string', jsonPath: '.spec.host' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  ],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: { type: 'object', required: ['host'], properties: { host, pages, redirects } },
      status: {
        type: 'object',
        properties: { conditions: { type: 'array', items: condition }, observedGeneration: { type: 'integer' } },
      },
    },
  },
});

/**
 * Allows dots in names. The object `blog.about` belongs to the site `blog`: the text after the last dot is the name of
 * the page or redirect.
 */
const ofSite = { nameFormat: 'subdomain', subresources: ['status'] } as const;
const readiness = {
  type: 'object',
  properties: { ready: { type: 'boolean' }, observedGeneration: { type: 'integer' } },
} as const;

export const Page = defineModel({
  ...ofSite,
  gvk: 'sites.example.com/v1alpha1/Page',
  plural: 'pages',
  indexes: ['spec.site'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: { type: 'object', required: ['site', 'title'], properties: { site: siteName, title: text } },
      status: readiness,
    },
  },
});

export const Redirect = defineModel({
  ...ofSite,
  gvk: 'sites.example.com/v1alpha1/Redirect',
  plural: 'redirects',
  indexes: ['spec.site'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: { type: 'object', required: ['site', 'to'], properties: { site: siteName, to: text } },
      status: readiness,
    },
  },
});

export const Certificate = defineModel({
  gvk: 'sites.example.com/v1alpha1/Certificate',
  plural: 'certificates',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: { spec: { type: 'object', required: ['host'], properties: { host } }, status: readiness },
  },
});
