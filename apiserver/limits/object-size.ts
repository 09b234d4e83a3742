/** Most bytes of an object, 1.5 MiB as in etcd: a watch event and a transaction must be able to carry it. */
export const maxObjectBytes: number = 1.5 * 1024 * 1024;
