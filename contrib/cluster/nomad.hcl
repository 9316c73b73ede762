# A site in Nomad that is scaled by the processes it needs: see README. The Nomad
# Autoscaler must run, with its plugin for Prometheus.

job "site" {
  group "site" {
    count = 2

    network {
      port "http" { to = 8080 }
      port "metrics" { to = 8079 }
    }

    # Nomad takes the services away first and sends SIGTERM so much later: the image
    # needs no CLOSE_DELAY here.
    shutdown_delay = "5s"

    service {
      name = "site"
      port = "http"

      check {
        type     = "http"
        port     = "metrics"
        path     = "/readyz"
        interval = "2s"
        timeout  = "1s"
      }
    }

    service {
      name = "site-metrics"
      port = "metrics"
    }

    update {
      max_parallel     = 1
      health_check     = "checks"
      min_healthy_time = "5s"
      auto_revert      = true
    }

    scaling {
      enabled = true
      min     = 2
      max     = 10

      policy {
        evaluation_interval = "15s"
        cooldown            = "1m"

        # Processes needed by each of those that serve.
        check "need" {
          source = "prometheus"
          query  = <<-END
            max(max_over_time(app:apppool_needed_processes:sum{app="php"}[5m]))
            / count(apppool_state{app="php",state="running"})
          END

          # 0.8 x PHP_MAX: the rest is for the time until a new one is ready.
          strategy "target-value" {
            target = 6.4
          }
        }
      }
    }

    task "site" {
      driver = "docker"

      config {
        image = "registry.example/site:1"
        ports = ["http", "metrics"]
      }

      env {
        PHP_MAX      = "8"
        STOP_TIMEOUT = "25s"
        LOG_FORMAT   = "json"
      }

      # Longer than STOP_TIMEOUT: then no request is killed.
      kill_timeout = "30s"

      resources {
        cpu    = 500
        memory = 256
      }
    }
  }
}
