variable "name" {
  description = "Name of the installation, and prefix of the names of its resources."
  type        = string
  default     = "adjutant"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,19}$", var.name))
    error_message = "Two to 20 lowercase letters, digits and hyphens: a load balancer takes no longer names."
  }
}

variable "region" {
  description = "Region of AWS."
  type        = string
}

variable "vpc_id" {
  description = "The VPC of all resources."
  type        = string
}

variable "private_subnet_ids" {
  description = "Subnets of the tasks and of Redis, in two availability zones or more, with a route to the registry, Secrets Manager, CloudWatch and model providers."
  type        = list(string)
}

variable "load_balancer_subnet_ids" {
  description = "Subnets of the load balancer, in two availability zones or more; public ones when `internal` is false."
  type        = list(string)
}

variable "internal" {
  description = "Whether only the VPC, and networks that are connected to it, reach the load balancer."
  type        = bool
  default     = true
}

variable "caller_cidrs" {
  description = "Networks of the callers of the API."
  type        = list(string)
}

variable "host" {
  description = "DNS name of the API. It is in the certificate, and its record names the load balancer."
  type        = string
}

variable "certificate_arn" {
  description = "Certificate of `host` in ACM."
  type        = string
}

variable "image" {
  description = "Image of Adjutant with the programs of its MCP servers, best by digest."
  type        = string
}

variable "config" {
  description = "The text of adjutant.json. It lies at /config/adjutant.json: paths in it are absolute, as /app/modules/tools.ts, and stdio servers name their `cwd`."
  type        = string
  default     = "{}"

  validation {
    condition     = can(keys(jsondecode(var.config)))
    error_message = "The configuration is not a JSON object."
  }

  validation {
    condition     = try(jsondecode(var.config).worker.drain_ms, 0) <= 100000 && try(jsondecode(var.config).engine.drain_ms, 0) <= 100000
    error_message = "worker.drain_ms and engine.drain_ms are at most 100000: Fargate kills a task 120 s after SIGTERM."
  }
}

variable "environment" {
  description = "Further environment variables of every role; never a secret."
  type        = map(string)
  default     = {}
}

variable "secrets" {
  description = "Environment variables of each role from Secrets Manager: name => ARN, with `:member::` for one member of a JSON secret. The API needs ADJUTANT_ADMIN_KEY, workers the keys of providers and of `encryption`, engines those of `encryption`."
  type = object({
    api    = map(string)
    engine = optional(map(string), {})
    worker = optional(map(string), {})
  })

  validation {
    condition     = contains(keys(var.secrets.api), "ADJUTANT_ADMIN_KEY")
    error_message = "Without keys the API does not start here: secrets.api needs ADJUTANT_ADMIN_KEY."
  }
}

variable "redis_passwords" {
  description = "Passwords of the user of Redis, one or two: the tasks use the first, both are accepted. They are in the state."
  type        = list(string)
  sensitive   = true

  validation {
    condition     = length(var.redis_passwords) > 0 && length(var.redis_passwords) < 3 && alltrue([for password in var.redis_passwords : can(regex("^[0-9A-Za-z]{32,128}$", password))])
    error_message = "One or two of 32 to 128 letters and digits, as `openssl rand -hex 32` prints them."
  }
}

variable "redis_node_type" {
  description = "Size of each node: memory for open work and a day of closed requests."
  type        = string
  default     = "db.r7g.large"
}

variable "redis_shards" {
  description = "Number of shards, each with one replica."
  type        = number
  default     = 1
}

variable "roles" {
  description = "Size of a task of each role (units of CPU, MiB) and numbers of tasks."
  type = map(object({
    cpu    = number
    memory = number
    min    = number
    max    = number
  }))
  default = {
    api    = { cpu = 512, memory = 1024, min = 2, max = 6 }
    engine = { cpu = 512, memory = 1024, min = 2, max = 6 }
    worker = { cpu = 1024, memory = 2048, min = 2, max = 20 }
  }

  validation {
    condition     = toset(keys(var.roles)) == toset(["api", "engine", "worker"]) && alltrue([for role in var.roles : role.min >= 1])
    error_message = "The roles are api, engine and worker, each with at least one task: an MCP server is known while a worker is connected to it."
  }
}

variable "otlp_endpoint" {
  description = "OTLP/HTTP endpoint of a collector in the VPC, as http://collector.internal:4318. Empty: nothing is sent."
  type        = string
  default     = ""
}

variable "log_retention_days" {
  description = "Days that CloudWatch keeps the logs."
  type        = number
  default     = 30
}
