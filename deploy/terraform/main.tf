# Adjutant on AWS: MemoryDB as its Redis, a load balancer with TLS before the API, and services of ECS on Fargate (ecs.tf).
# Must never serve clear text to callers: they send keys.
terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.25"
    }
  }
}

provider "aws" {
  region = var.region
  default_tags {
    tags = { Application = var.name }
  }
}

data "aws_vpc" "this" {
  id = var.vpc_id
}

data "aws_partition" "current" {}

locals {
  redis_port   = 6379
  api_port     = 7420
  metrics_port = 7421
  otlp_port    = 4318
}

# MemoryDB acknowledges a write when a log over several availability zones has it: nothing acknowledged is lost in a failover.
resource "aws_memorydb_cluster" "redis" {
  name                     = var.name
  engine                   = "valkey"
  engine_version           = "7.2"
  node_type                = var.redis_node_type
  num_shards               = var.redis_shards
  num_replicas_per_shard   = 1
  port                     = local.redis_port
  tls_enabled              = true
  acl_name                 = aws_memorydb_acl.redis.name
  parameter_group_name     = aws_memorydb_parameter_group.redis.name
  subnet_group_name        = aws_memorydb_subnet_group.redis.name
  security_group_ids       = [aws_security_group.redis.id]
  snapshot_retention_limit = 7
  final_snapshot_name      = "${var.name}-final"
}

resource "aws_memorydb_parameter_group" "redis" {
  name   = var.name
  family = "memorydb_valkey7"

  # With another policy Adjutant refuses to start.
  parameter {
    name  = "maxmemory-policy"
    value = "noeviction"
  }
}

resource "aws_memorydb_subnet_group" "redis" {
  name       = var.name
  subnet_ids = var.private_subnet_ids
}

# The permissions of docs/operations.md without `+config|get`: MemoryDB has no CONFIG, and refuses a rule that names it.
resource "aws_memorydb_user" "redis" {
  user_name     = var.name
  access_string = "on ~adjutant* ~{adjutant:* &adjutant* &{adjutant:* +@all -@admin -@dangerous +info"

  authentication_mode {
    type      = "password"
    passwords = var.redis_passwords
  }
}

resource "aws_memorydb_acl" "redis" {
  name       = var.name
  user_names = [aws_memorydb_user.redis.user_name]
}

# The whole address, because ECS does not put a secret into the value of another variable.
resource "aws_secretsmanager_secret" "redis_url" {
  name_prefix = "${var.name}-redis-url-"
}

resource "aws_secretsmanager_secret_version" "redis_url" {
  secret_id     = aws_secretsmanager_secret.redis_url.id
  secret_string = "rediss+cluster://${aws_memorydb_user.redis.user_name}:${var.redis_passwords[0]}@${aws_memorydb_cluster.redis.cluster_endpoint[0].address}:${local.redis_port}"
}

resource "aws_lb" "api" {
  name               = var.name
  load_balancer_type = "application"
  internal           = var.internal
  subnets            = var.load_balancer_subnet_ids
  security_groups    = [aws_security_group.load_balancer.id]
  # Longer than the longest `wait_ms` (300 s), shorter than the API keeps an idle connection.
  idle_timeout               = 310
  drop_invalid_header_fields = true
}

resource "aws_lb_target_group" "api" {
  name                          = var.name
  vpc_id                        = var.vpc_id
  target_type                   = "ip"
  protocol                      = "HTTP"
  port                          = local.api_port
  load_balancing_algorithm_type = "least_outstanding_requests"
  deregistration_delay          = "30"

  # The path is not /readyz: ECS replaces a task that its load balancer calls unhealthy, and a new one does not bring Redis back.
  health_check {
    path                = "/healthz"
    port                = tostring(local.metrics_port)
    interval            = 10
    timeout             = 3
    healthy_threshold   = 2
    unhealthy_threshold = 6
  }
}

# There is no listener on port 80.
resource "aws_lb_listener" "https" {
  load_balancer_arn = aws_lb.api.arn
  port              = 443
  protocol          = "HTTPS"
  ssl_policy        = "ELBSecurityPolicy-TLS13-1-2-2021-06"
  certificate_arn   = var.certificate_arn

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.api.arn
  }
}

# Callers reach the load balancer, the load balancer the API, and the roles Redis: nothing else is let in.
resource "aws_security_group" "load_balancer" {
  name_prefix = "${var.name}-load-balancer-"
  description = "HTTPS from callers"
  vpc_id      = var.vpc_id
}

resource "aws_security_group" "role" {
  for_each    = var.roles
  name_prefix = "${var.name}-${each.key}-"
  description = "Tasks of the role ${each.key}"
  vpc_id      = var.vpc_id
}

resource "aws_security_group" "redis" {
  name_prefix = "${var.name}-redis-"
  description = "Redis from the roles"
  vpc_id      = var.vpc_id
}

resource "aws_vpc_security_group_ingress_rule" "callers" {
  for_each          = toset(var.caller_cidrs)
  security_group_id = aws_security_group.load_balancer.id
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_vpc_security_group_egress_rule" "load_balancer" {
  for_each                     = toset([tostring(local.api_port), tostring(local.metrics_port)])
  security_group_id            = aws_security_group.load_balancer.id
  referenced_security_group_id = aws_security_group.role["api"].id
  ip_protocol                  = "tcp"
  from_port                    = tonumber(each.value)
  to_port                      = tonumber(each.value)
}

resource "aws_vpc_security_group_ingress_rule" "api" {
  for_each                     = toset([tostring(local.api_port), tostring(local.metrics_port)])
  security_group_id            = aws_security_group.role["api"].id
  referenced_security_group_id = aws_security_group.load_balancer.id
  ip_protocol                  = "tcp"
  from_port                    = tonumber(each.value)
  to_port                      = tonumber(each.value)
}

resource "aws_vpc_security_group_ingress_rule" "redis" {
  for_each                     = var.roles
  security_group_id            = aws_security_group.redis.id
  referenced_security_group_id = aws_security_group.role[each.key].id
  ip_protocol                  = "tcp"
  from_port                    = local.redis_port
  to_port                      = local.redis_port
}

# API and engine: Redis and the collector in the VPC; the image, secrets, logs, identity providers and buckets over HTTPS.
resource "aws_vpc_security_group_egress_rule" "vpc" {
  for_each          = { for pair in setproduct(["api", "engine"], [local.redis_port, local.otlp_port]) : "${pair[0]}-${pair[1]}" => pair }
  security_group_id = aws_security_group.role[each.value[0]].id
  cidr_ipv4         = data.aws_vpc.this.cidr_block
  ip_protocol       = "tcp"
  from_port         = tonumber(each.value[1])
  to_port           = tonumber(each.value[1])
}

resource "aws_vpc_security_group_egress_rule" "https" {
  for_each          = toset(["api", "engine"])
  security_group_id = aws_security_group.role[each.value].id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

# Workers call MCP servers and model providers, wherever they are.
resource "aws_vpc_security_group_egress_rule" "worker" {
  security_group_id = aws_security_group.role["worker"].id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
}
