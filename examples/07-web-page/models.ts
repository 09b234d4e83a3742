import { conditionsSchema, defineModel } from 'homeostat';

const text = { type: 'string', maxLength: 253 } as const;

export const WebPage = defineModel({
  gvk: 'web.example.com/v1alpha1/WebPage',
  plural: 'webpages',
  scope: 'Namespaced',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['html'],
        properties: { html: { type: 'string', maxLength: 100_000 }, exposed: { type: 'boolean', default: false } },
      },
      status: {
        type: 'object',
        properties: { htmlConfigMap: text, link: { ...text, nullable: true }, conditions: conditionsSchema },
      },
    },
  },
});

/** ConfigMap is a kind of the server. The controller declares only the name and the fields that it uses. */
export const ConfigMap = defineModel({
  gvk: 'v1/ConfigMap',
  plural: 'configmaps',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  schema: { type: 'object', properties: { data: { type: 'object', additionalProperties: { type: 'string' } } } },
});

/**
 * The declaration of a web server that serves the files of a ConfigMap. `checksum` is the digest of these files, so a
 * changed file changes the Deployment, too; a real web server would then restart.
 */
export const Deployment = defineModel({
  gvk: 'web.example.com/v1alpha1/Deployment',
  plural: 'deployments',
  scope: 'Namespaced',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: { type: 'object', required: ['configMap', 'checksum'], properties: { configMap: text, checksum: text } },
      status: { type: 'object', properties: { conditions: conditionsSchema } },
    },
  },
});

export const Service = defineModel({
  gvk: 'web.example.com/v1alpha1/Service',
  plural: 'services',
  scope: 'Namespaced',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: { spec: { type: 'object', required: ['deployment'], properties: { deployment: text } } },
  },
});

export const Ingress = defineModel({
  gvk: 'web.example.com/v1alpha1/Ingress',
  plural: 'ingresses',
  scope: 'Namespaced',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: { type: 'object', required: ['host', 'service'], properties: { host: text, service: text } },
    },
  },
});
