// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.2.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'f95c2396ff1dcb64831cbe6369445dd5313b64e8d44de8d7ec9c3e55e5939968';
